import { startProxy } from '../../test/support/tcp-proxy.js'
import type { Group } from '../support/bench.js'
import { type Comparison, timeBeside } from '../support/comparison.js'
import { type Arena, type Contender, nextKey } from './contender.js'
import { inboxArenas, makeTables, storeArenas } from './postgres.js'
import { redisArenas } from './redis.js'

const DELIVERIES = 20

const KINDS = ['new', 'duplicate'] as const
type Kind = (typeof KINDS)[number]

/** The goals of the inbox with pg: one less than by hand. */
const INBOX_GOALS = { new: { atMost: 0.75 }, duplicate: { atMost: 0.67 } } as const

/** Exact: counted between client and server, on one connection that was already used. */
export const roundTrips: Group = {
  id: 'round-trips',
  async measure(bench) {
    bench.progress('round trips')
    const [redis, postgres] = await Promise.all([bench.redis(), bench.postgres()])
    await makeTables(postgres.url)
    const comparisons = [
      ...(await countedRoundTrips(redis.port, redisArenas)),
      ...(await countedRoundTrips(postgres.port, async (port) => {
        const url = new URL(postgres.url)
        url.port = `${port}`
        return [...storeArenas(url.href, 1), ...inboxArenas(url.href, 1)]
      })),
    ]
    return [
      {
        title: 'Round trips of a delivery',
        ratio: 'Ours, to those by hand',
        unit: 'round trips',
        comparisons,
        notes: ["The inbox's include one statement of the handler. Counted by a proxy: exact."],
      },
    ]
  },
}

/** The round trips of each contender, for a new event and for a duplicate. */
export async function countedRoundTrips(
  target: number,
  open: (port: number) => Promise<Arena[]>,
): Promise<Comparison[]> {
  const proxy = await startProxy({ port: target })
  const comparisons: Comparison[] = []
  for (const { ours, byHand, close } of await open(proxy.port)) {
    const [our, their] = [await count(ours), await count(byHand)]
    for (const kind of KINDS) {
      comparisons.push(
        timeBeside(
          { name: `round trips of ${ours.name}: ${kind}`, figures: [our[kind]] },
          { name: byHand.name, figures: [their[kind]] },
          ours.name === 'postgresInbox, pg' ? INBOX_GOALS[kind] : undefined,
        ),
      )
    }
    await close()
  }
  await proxy.close()
  return comparisons

  async function count({ deliver }: Contender): Promise<Record<Kind, number>> {
    // Connects, loads scripts, prepares statements, and purges, which takes turns with the deliveries on the one connection.
    for (let i = 0; i < 10; i++) await deliver(nextKey())
    const keys = Array.from({ length: DELIVERIES }, nextKey)
    const counts = { new: 0, duplicate: 0 }
    for (const kind of KINDS) {
      const before = proxy.roundTrips
      for (const key of keys) {
        if ((await deliver(key)) !== (kind === 'new')) throw new Error(`${key} was not ${kind}`)
      }
      counts[kind] = (proxy.roundTrips - before) / DELIVERIES
    }
    return counts
  }
}
