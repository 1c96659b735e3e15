import { startProxy } from '../../test/support/tcp-proxy.js'
import type { Group } from '../support/bench.js'
import { short } from '../support/figures.js'
import { type Arena, nextKey } from './contender.js'
import { makeTables, postgresArenas } from './postgres.js'
import { redisArenas } from './redis.js'

const DELIVERIES = 20

/** Exact: counted between client and server, on one connection that was already used. */
export const roundTrips: Group = {
  id: 'round-trips',
  async measure(bench) {
    bench.progress('round trips')
    const [redis, postgres] = await Promise.all([bench.redis(), bench.postgres()])
    await makeTables(postgres.url)
    const rows = [
      ...(await rowsOf(redis.port, (port) => redisArenas(port))),
      ...(await rowsOf(postgres.port, (port) => {
        const url = new URL(postgres.url)
        url.port = `${port}`
        return postgresArenas(url.href, 1)
      })),
    ]
    return [
      {
        title: 'Round trips per delivery',
        columns: ['what', 'a new delivery', 'a duplicate', 'by hand, new', 'by hand, duplicate'],
        rows,
        notes: ["The inbox's include one statement of the handler's.", 'Memory and SQLite have no server.'],
      },
    ]
  },
}

async function rowsOf(target: number, open: (port: number) => Promise<Arena[]>): Promise<string[][]> {
  const proxy = await startProxy({ port: target })
  const arenas = await open(proxy.port)
  const rows: string[][] = []
  for (const { name, ours, byHand } of arenas) {
    const [hand = ours] = byHand
    rows.push([name, ...(await count(ours)), ...(await count(hand))])
  }
  await Promise.all(arenas.map(({ close }) => close()))
  await proxy.close()
  return rows

  async function count({ deliver }: Arena['ours']): Promise<string[]> {
    // Connects, loads scripts, prepares statements.
    for (let i = 0; i < 3; i++) await deliver(nextKey())
    const keys = Array.from({ length: DELIVERIES }, nextKey)
    const counts: string[] = []
    for (const kind of ['new', 'duplicate'] as const) {
      const before = proxy.roundTrips
      for (const key of keys) {
        if ((await deliver(key)) !== (kind === 'new')) throw new Error(`${key} was not ${kind}`)
      }
      counts.push(short((proxy.roundTrips - before) / DELIVERIES))
    }
    return counts
  }
}
