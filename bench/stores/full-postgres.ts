import { Pool } from 'pg'
import { postgresStore } from 'tix-webhooks/postgres'
import type { Bench } from '../support/bench.js'
import { keyOf, nextKey, RETAIN_MS, throughStore } from './contender.js'
import type { Counts, Full } from './full.js'
import { fillWithRows, sizeOf } from './postgres-rows.js'

export async function fullPostgres(bench: Bench, { few, many }: Counts): Promise<Full> {
  bench.progress(`Postgres: ${many} events`)
  const { url } = await bench.postgres()
  const pool = new Pool({ connectionString: url, max: 16, options: '-c synchronous_commit=off' })
  await fillWithRows(pool, { table: 'few', count: few, firstExpiresInMs: RETAIN_MS })
  await fillWithRows(pool, { table: 'many', count: many, firstExpiresInMs: RETAIN_MS })
  const bytes = await sizeOf(pool, 'many')
  const sample = bench.size(20_000, 1_000)
  const unvacuumed = await sizeOfSample(pool, sample)
  const byHand = await sizeByHand(pool, many)
  return {
    name: 'postgresStore, pg',
    few: postgresStore(pool, { table: 'few' }),
    many: postgresStore(pool, { table: 'many' }),
    sizes: [
      { what: 'postgresStore, vacuumed as autovacuum does', bytesPerEvent: bytes / many },
      {
        what: `postgresStore, ${sample.toLocaleString('en')} real ones at once, before any vacuum`,
        bytesPerEvent: unvacuumed / sample,
      },
      { what: 'Postgres by hand: a key and a state', bytesPerEvent: byHand / many },
    ],
    async close() {
      await pool.query('DROP TABLE few, many, sample, many_by_hand')
      await pool.end()
    },
  }
}

async function sizeOfSample(pool: Pool, count: number): Promise<number> {
  const store = postgresStore(pool, { table: 'sample' })
  await store.migrate()
  await pool.query('ALTER TABLE sample SET (autovacuum_enabled = off)')
  const { deliver } = throughStore('postgresStore', store)
  let left = count
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      while (left-- > 0) await deliver(nextKey())
    }),
  )
  return sizeOf(pool, 'sample')
}

async function sizeByHand(pool: Pool, count: number): Promise<number> {
  await pool.query('CREATE TABLE many_by_hand (key text PRIMARY KEY, state text NOT NULL)')
  await pool.query(
    "INSERT INTO many_by_hand SELECT $1 || lpad(n::text, 10, '0'), 'completed' FROM generate_series(1, $2::int) AS n",
    [keyOf(0).slice(0, -10), count],
  )
  return sizeOf(pool, 'many_by_hand')
}
