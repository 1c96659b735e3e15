import type { Bench, Group } from '../support/bench.js'
import { rateOf } from '../support/calls.js'
import { type Comparison, rateBeside } from '../support/comparison.js'
import type { Goal } from '../support/goal.js'
import { alternate } from '../support/rounds.js'
import { compareRates, type Goals, warmUp } from './compare.js'
import { type Arena, nextKey } from './contender.js'
import { makeTables, pgInbox, pgStore } from './postgres.js'
import { redisArenas } from './redis.js'
import { sqliteArenas } from './sqlite.js'

/** The number of events that are delivered repeatedly. */
const DUPLICATES = 100

const NEARLY_AS_FAST: Goal = { atLeast: 0.9 }
const REDIS_GOALS: Goals = [
  [1, NEARLY_AS_FAST],
  [16, NEARLY_AS_FAST],
]
/** Calls that arrive in one turn share a commit. */
const SQLITE_STORE_GOALS: Goals = [
  [1, undefined],
  [16, { atLeast: 2 }],
]
/** The commit is the handler's: none is ever in flight with another. */
const SQLITE_INBOX_GOALS: Goals = [[1, undefined]]

/** The cost of a delivery at Redis and SQLite, and of a duplicate at each store, compared with the minimal commands. */
export const stores: Group = {
  id: 'stores',
  async measure(bench) {
    const [redis, postgres] = await Promise.all([bench.redis(), bench.postgres()])
    await makeTables(postgres.url)
    const redises = await redisArenas(redis.port)
    const sqlites = await sqliteArenas(await bench.folder())
    const fresh: Comparison[] = []
    for (const arena of redises) {
      await warmUp(bench, arena)
      fresh.push(...(await compareRates(bench, arena, REDIS_GOALS)))
    }
    fresh.push(...(await compareRates(bench, sqlites.store, SQLITE_STORE_GOALS)))
    fresh.push(...(await compareRates(bench, sqlites.inbox, SQLITE_INBOX_GOALS)))

    const again: Comparison[] = []
    const arenas = [
      ...redises,
      pgStore(postgres.url, 1),
      pgInbox(postgres.url, 1),
      sqlites.store,
      sqlites.inbox,
    ]
    for (const arena of arenas) again.push(await duplicates(bench, arena))
    await Promise.all(arenas.map(({ close }) => close()))
    return [
      {
        title: 'New deliveries at Redis and SQLite',
        ratio: 'Deliveries per second, to those by hand',
        unit: 'deliveries per second',
        comparisons: fresh,
        notes: [
          'A claim and a completion, or the transaction of an inbox with one statement. At Redis after 2,000 keys of the same kind.',
          'By hand does less: no attempts, no owner, no take-over when a process dies, and with SQLite no retention either.',
        ],
      },
      {
        title: 'Duplicates',
        ratio: 'Duplicates per second, one at a time, to those by hand',
        unit: 'duplicates per second',
        comparisons: again,
      },
    ]
  },
}

async function duplicates(bench: Bench, { ours, byHand }: Arena): Promise<Comparison> {
  bench.progress(`duplicates: ${ours.name}`)
  const [our = [], their = []] = await alternate(
    bench.size(16, 1),
    await Promise.all(
      [ours, byHand].map(async ({ deliver }) => {
        const keys = Array.from({ length: DUPLICATES }, nextKey)
        for (const key of keys) await deliver(key)
        let next = 0
        const call = () => deliver(keys[next++ % DUPLICATES] as string)
        return () => rateOf(call, { inFlight: 1, ms: bench.size(60, 10) })
      }),
    ),
  )
  return rateBeside({ name: ours.name, figures: our }, { name: byHand.name, figures: their })
}
