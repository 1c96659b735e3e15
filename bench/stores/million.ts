import type { Bench, Group } from '../support/bench.js'
import { timeOf } from '../support/calls.js'
import { type Comparison, timeBeside } from '../support/comparison.js'
import { short } from '../support/figures.js'
import { alternate } from '../support/rounds.js'
import { LEASE_MS, nextKey, nextToken, RETAIN_MS } from './contender.js'
import type { Counts, Full } from './full.js'
import { fullMysql } from './full-mysql.js'
import { fullPostgres } from './full-postgres.js'
import { fullRedis } from './full-redis.js'
import { fullSqlite } from './full-sqlite.js'
import { memoryMillion } from './memory-million.js'

/** The size of a full store, and its effect on the time of a claim. */
export const million: Group = {
  id: 'million',
  async measure(bench) {
    const counts: Counts = { few: bench.size(10_000, 500), many: bench.size(1_000_000, 20_000) }
    const [few = '', many = ''] = [counts.few, counts.many].map((count) => count.toLocaleString('en'))
    const memory = await memoryMillion(bench)
    const sizes: string[][] = []
    const growth: Comparison[] = []
    for (const open of [fullRedis, fullPostgres, fullMysql, fullSqlite]) {
      const full = await open(bench, counts)
      for (const { what, bytesPerEvent } of full.sizes) sizes.push([what, short(bytesPerEvent)])
      growth.push(await claimTimes(bench, full, few))
      await full.close()
    }
    return [
      memory,
      {
        title: 'Growth of a claim',
        ratio: `Its time at ${many} events, to that at ${few}`,
        unit: 'µs',
        comparisons: growth,
        notes: [
          'Of new keys, one at a time. Postgres, MySQL and SQLite do not wait for the disk here: it would hide the growth.',
        ],
      },
      {
        title: `Bytes per event, at ${many} completed events`,
        columns: ['what', 'bytes per event'],
        rows: sizes,
        notes: [
          'Keys of 34 characters, tokens as the receiver makes them. Redis, Postgres, MySQL and SQLite are filled with copies of records that the store made.',
          'Redis: used_memory, so without fragmentation. Postgres, MySQL and SQLite: table and indexes on the disk.',
        ],
      },
    ]
  },
}

async function claimTimes(bench: Bench, { name, few, many }: Full, at: string): Promise<Comparison> {
  bench.progress(`growth: ${name}`)
  const contestants = [few, many].map(
    (store) => () =>
      timeOf(
        async () =>
          store.claim({ key: nextKey(), token: nextToken(), leaseMs: LEASE_MS, retainMs: RETAIN_MS }),
        bench.size(100, 50),
      ),
  )
  const [atFew = [], atMany = []] = await alternate(bench.size(24, 2), contestants)
  return timeBeside({ name, figures: atMany }, { name: `at ${at}`, figures: atFew })
}
