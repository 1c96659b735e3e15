import type { Bench, Group } from '../support/bench.js'
import { short, spread, times } from '../support/figures.js'
import { alternate, ratios, timeOf } from '../support/rounds.js'
import { LEASE_MS, nextKey, nextToken, RETAIN_MS } from './contender.js'
import type { Counts, Full } from './full.js'
import { fullMemory } from './full-memory.js'
import { fullPostgres } from './full-postgres.js'
import { fullRedis } from './full-redis.js'
import { fullSqlite } from './full-sqlite.js'
import { memoryMillion } from './memory-million.js'

/** The size of a full store, and its effect on the time of a claim. */
export const million: Group = {
  id: 'million',
  async measure(bench) {
    const counts: Counts = { few: bench.size(10_000, 500), many: bench.size(1_000_000, 20_000) }
    const memory = await memoryMillion(bench)
    const sizes: string[][] = []
    const growth: string[][] = []
    for (const open of [fullMemory, fullRedis, fullPostgres, fullSqlite]) {
      const full = await open(bench, counts)
      for (const { what, bytesPerEvent } of full.sizes) sizes.push([what, short(bytesPerEvent)])
      growth.push(await claimTimes(bench, full))
      await full.close()
    }
    const [few, many] = [counts.few, counts.many].map((count) => count.toLocaleString('en'))
    return [
      memory,
      {
        title: `Size: bytes per event at ${many} completed events`,
        columns: ['what', 'bytes per event'],
        rows: sizes,
        notes: [
          'Keys of 34 characters, tokens as the receiver makes them. Redis, Postgres and SQLite are filled with copies of records that the store made.',
          'Redis: used_memory, so without fragmentation. Postgres and SQLite: table and indexes on the disk.',
        ],
      },
      {
        title: `Growth: microseconds of a claim at ${few} and at ${many} events`,
        columns: ['what', `at ${few}`, `at ${many}`, 'ratio'],
        rows: growth,
        notes: [
          'Of new keys, one at a time. Postgres and SQLite do not wait for the disk here: it would hide the growth.',
        ],
      },
    ]
  },
}

async function claimTimes(bench: Bench, { name, few, many }: Full): Promise<string[]> {
  bench.progress(`growth: ${name}`)
  const contestants = [few, many].map(
    (store) => () =>
      timeOf(
        async () =>
          store.claim({ key: nextKey(), token: nextToken(), leaseMs: LEASE_MS, retainMs: RETAIN_MS }),
        bench.size(200, 50),
      ),
  )
  const [atFew = [], atMany = []] = await alternate(bench.size(15, 2), contestants)
  return [name, spread(atFew, short), spread(atMany, short), spread(ratios(atMany, atFew), times)]
}
