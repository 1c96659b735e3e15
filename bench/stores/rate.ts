import type { Bench, Group } from '../support/bench.js'
import { short, spread, times } from '../support/figures.js'
import { judged } from '../support/goal.js'
import type { Table } from '../support/report.js'
import { alternate, type Figures, rateOf, ratios } from '../support/rounds.js'
import { type Arena, type Contender, nextKey } from './contender.js'
import { memoryArena } from './memory.js'
import { makeTables, postgresArenas } from './postgres.js'
import { redisArenas } from './redis.js'
import { sqliteArenas } from './sqlite.js'

/** The number of events that are delivered repeatedly. */
const DUPLICATES = 100

/** The cost of a delivery and of a duplicate at each store, compared with the minimal commands. */
export const stores: Group = {
  id: 'stores',
  async measure(bench) {
    const [redis, postgres] = await Promise.all([bench.redis(), bench.postgres()])
    await makeTables(postgres.url)
    const arenas = [
      memoryArena(),
      ...(await redisArenas(redis.port)),
      ...(await postgresArenas(postgres.url)),
      ...(await sqliteArenas(await bench.folder())),
    ]
    const tables = [await newDeliveries(bench, arenas), await duplicates(bench, arenas)]
    await Promise.all(arenas.map(({ close }) => close()))
    return tables
  },
}

async function newDeliveries(bench: Bench, arenas: readonly Arena[]): Promise<Table> {
  const ms = bench.size(120, 20)
  const rows: string[][] = []
  for (const arena of arenas) {
    for (const inFlight of arena.inFlight) {
      bench.progress(`new deliveries: ${arena.name}, ${inFlight} in flight`)
      const contestants = [arena.ours, ...arena.byHand].map(({ deliver }) => () => {
        arena.reset?.()
        return rateOf(() => deliver(nextKey()), { inFlight, ms })
      })
      const [ours = [], ...others] = await alternate(bench.size(21, 1), contestants)
      rows.push(...comparison([arena.name, `${inFlight}`], ours, arena.byHand, others))
    }
  }
  return {
    title: 'New deliveries per second: claim and complete, beside the least that can be done by hand',
    columns: ['what', 'in flight', 'per second', 'by hand', 'by hand, per second', 'ratio', 'goal', ''],
    rows,
    notes: [
      'By hand does less: no attempts, no owner, no take-over when a process dies, and in the leaner tables no retention either. It shows where the floor is.',
      'A ratio of 1 is as fast as by hand. It is taken within each round, and the figure is the median of those.',
      'Postgres and SQLite wait for the disk at each commit: a store commits twice for a delivery, an inbox once.',
    ],
  }
}

async function duplicates(bench: Bench, arenas: readonly Arena[]): Promise<Table> {
  const ms = bench.size(60, 10)
  const rows: string[][] = []
  for (const arena of arenas) {
    bench.progress(`duplicates: ${arena.name}`)
    arena.reset?.()
    const [hand = arena.ours] = arena.byHand
    const again = await Promise.all([arena.ours, hand].map((contender) => duplicatesOf(contender)))
    const contestants = [() => arena.ours.deliver(nextKey()), ...again].map(
      (call) => () => rateOf(call, { inFlight: 1, ms }),
    )
    const [fresh = [], ours = [], theirs = []] = await alternate(bench.size(15, 1), contestants)
    rows.push([
      arena.name,
      spread(ours, short),
      spread(ratios(fresh, ours), times),
      spread(theirs, short),
      spread(ratios(ours, theirs), times),
    ])
  }
  return {
    title: 'Duplicates per second',
    columns: ['what', 'per second', 'time, to that of a new one', 'by hand, per second', 'ratio'],
    rows,
    notes: ['One at a time. The ratio is to the rate by hand, where a duplicate is one command too.'],
  }
}

async function duplicatesOf({ deliver }: Contender): Promise<() => Promise<boolean>> {
  const keys = Array.from({ length: DUPLICATES }, nextKey)
  for (const key of keys) await deliver(key)
  let next = 0
  return () => deliver(keys[next++ % DUPLICATES] as string)
}

function comparison(
  head: readonly string[],
  ours: Figures,
  byHand: readonly Contender[],
  others: readonly Figures[],
): string[][] {
  return others.map((other, i) => {
    const { name = '', goal } = byHand[i] ?? {}
    const figures = ratios(ours, other)
    return [
      ...(i === 0 ? [...head, spread(ours, short)] : ['', '', '']),
      name,
      spread(other, short),
      spread(figures, times),
      ...(goal === undefined ? ['', ''] : judged(figures, goal)),
    ]
  })
}
