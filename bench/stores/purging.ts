import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { Pool } from 'pg'
import type { IdempotencyStore, Purgeable } from 'tix-webhooks'
import { postgresStore } from 'tix-webhooks/postgres'
import { sqliteStore } from 'tix-webhooks/sqlite'
import { openDatabase } from '../../test/support/sqlite-open.js'
import type { Bench, Group } from '../support/bench.js'
import { short, spread, whole } from '../support/figures.js'
import { alternate, estimateOf, quantile } from '../support/rounds.js'
import { LEASE_MS, nextKey, nextToken, RETAIN_MS } from './contender.js'
import { fillWithEvents } from './full-sqlite.js'
import { fillWithRows } from './postgres-rows.js'

const WORKERS = 8
const BATCH = 1_000

interface Subject {
  readonly name: string
  readonly store: IdempotencyStore & Purgeable
  close(): Promise<void>
}

/** The effect of the purge of expired records on claims, and the reverse. */
export const purging: Group = {
  id: 'purging',
  async measure(bench) {
    const rounds = bench.size(8, 1)
    const perPurge = bench.size(8_000, 2_000)
    // In each round a purge with claims and one without; one round more to warm up, and those that are repeated.
    const expired = (1 + rounds + Math.floor(rounds / 2)) * 2 * perPurge
    const rows: string[][] = []
    for (const open of [openPostgres, openSqlite]) {
      const { name, store, close } = await open(bench, expired)
      bench.progress(`purging: ${name}`)
      rows.push([name, ...(await measure(store, { rounds, perPurge, ms: bench.size(300, 50) }))])
      await close()
    }
    return [
      {
        title: `Purging expired records, ${BATCH.toLocaleString('en')} at a time, while ${WORKERS} workers claim`,
        columns: [
          'what',
          'purged per second',
          'with claims',
          'claim p50, µs',
          'while purging',
          'claim p99, µs',
          'while purging',
        ],
        rows,
        notes: [
          'One batch follows the other at once, which is the worst case. SQLite is synchronous: while a batch is deleted, the process does nothing else.',
        ],
      },
    ]
  },
}

async function openPostgres(bench: Bench, expired: number): Promise<Subject> {
  bench.progress(`Postgres: ${expired} expired records`)
  const { url } = await bench.postgres()
  const filling = new Pool({ connectionString: url, max: 1, options: '-c synchronous_commit=off' })
  await fillWithRows(filling, { table: 'purged', count: expired, firstExpiresInMs: -RETAIN_MS })
  await filling.end()
  const pool = new Pool({ connectionString: url, max: WORKERS + 1 })
  return {
    name: 'postgresStore, pg',
    store: postgresStore(pool, { table: 'purged', purgeEverySeconds: false }),
    async close() {
      await pool.query('DROP TABLE purged')
      await pool.end()
    },
  }
}

async function openSqlite(bench: Bench, expired: number): Promise<Subject> {
  bench.progress(`SQLite: ${expired} expired records`)
  const db = openDatabase('libsql', join(await bench.folder(), 'purged.db'))
  await fillWithEvents(db, expired, { now: () => Date.now() - 2 * RETAIN_MS })
  db.exec('PRAGMA synchronous = FULL')
  return {
    name: 'sqliteStore, libsql',
    store: sqliteStore(db, { purgeEverySeconds: false }),
    close: async () => void db.close(),
  }
}

interface Plan {
  readonly rounds: number
  readonly perPurge: number
  /** How long claims run without a purge. */
  readonly ms: number
}

async function measure(store: Subject['store'], { rounds, perPurge, ms }: Plan): Promise<string[]> {
  const purge = () => purgeRate(store, perPurge)
  const [alone = [], claims = [], both = []] = await alternate<{
    purged: number
    latencies: readonly number[]
  }>(rounds, [
    async () => ({ purged: await purge(), latencies: [] }),
    async () => {
      const end = performance.now() + ms
      return { purged: 0, latencies: await claimUntil(store, () => performance.now() >= end) }
    },
    async () => {
      let isPurged = false
      const latencies = claimUntil(store, () => isPurged)
      const purged = await purge()
      isPurged = true
      return { purged, latencies: await latencies }
    },
  ])
  const rates = [alone, both].map((figures) => figures.map(({ purged }) => purged))
  const [rateAlone = [], rateBoth = []] = rates
  const latency = (figures: typeof both, share: number): string =>
    spread(
      estimateOf(
        figures.map(({ latencies }) => quantile(latencies, share)),
        'time',
      ),
      short,
    )
  return [
    spread(estimateOf(rateAlone, 'rate'), whole),
    spread(estimateOf(rateBoth, 'rate'), whole),
    ...[0.5, 0.99].flatMap((share) => [latency(claims, share), latency(both, share)]),
  ]
}

/** Records per second. */
async function purgeRate(store: Purgeable, count: number): Promise<number> {
  const start = performance.now()
  let purged = 0
  while (purged < count) {
    const batch = await store.purge({ limit: BATCH })
    if (batch === 0) throw new Error('There was less to purge than was filled in')
    purged += batch
    await setImmediate()
  }
  return (purged / (performance.now() - start)) * 1000
}

/** The microseconds of each claim, from when it was due: a blocked event loop counts too. */
async function claimUntil(store: IdempotencyStore, isEnd: () => boolean): Promise<number[]> {
  const latencies: number[] = []
  async function work(): Promise<void> {
    do {
      const wantedAt = performance.now()
      await setImmediate()
      await store.claim({ key: nextKey(), token: nextToken(), leaseMs: LEASE_MS, retainMs: RETAIN_MS })
      latencies.push((performance.now() - wantedAt) * 1000)
    } while (!isEnd())
  }
  await Promise.all(Array.from({ length: WORKERS }, work))
  return latencies
}
