import type { Pool } from 'pg'
import { postgresStore } from 'tix-webhooks/postgres'
import { keyOf, LEASE_MS, nextToken, RETAIN_MS } from './contender.js'

/** The columns that differ from row to row. */
const TIMED = ['event_key', 'expires_at', 'received_at']

export interface Rows {
  readonly table: string
  readonly count: number
  /** When the first row expires, from now: the others follow a millisecond apart. */
  readonly firstExpiresInMs: number
}

/**
 * Fills a table with the rows of this many deliveries. The server copies two records made by the store, one claimed and one
 * completed; since a completion follows each real claim, each row is written twice. Vacuum runs as often as autovacuum would:
 * each time that a fiftieth of the rows is dead.
 */
export async function fillWithRows(pool: Pool, { table, count, firstExpiresInMs }: Rows): Promise<void> {
  const store = postgresStore(pool, { table })
  await store.migrate()
  const lease = { key: 'sample', token: nextToken() }
  await store.claim({ ...lease, leaseMs: LEASE_MS, retainMs: RETAIN_MS })
  await pool.query(`CREATE TABLE ${table}_running AS SELECT * FROM ${table}`)
  await store.complete(lease, RETAIN_MS)
  await pool.query(`CREATE TABLE ${table}_completed AS SELECT * FROM ${table}`)
  await pool.query(`TRUNCATE ${table}`)

  const columns = await columnsOf(pool, table)
  const others = columns.filter((column) => !TIMED.includes(column)).join(', ')
  const step = Math.ceil(count / 50)
  for (let from = 1; from <= count; from += step) {
    const to = Math.min(count, from + step - 1)
    await pool.query(
      `INSERT INTO ${table} (${columns.join(', ')})
       SELECT ${columns.map((column) => `copy.${column}`).join(', ')}
       FROM generate_series($1::int, $2::int) AS n, ${table}_running AS sample,
         LATERAL jsonb_populate_record(sample, jsonb_build_object(
           'event_key', $3 || lpad(n::text, 10, '0'),
           'expires_at', (extract(epoch FROM now()) * 1000)::bigint + $4::bigint + n,
           'received_at', (extract(epoch FROM now()) * 1000)::bigint + $4::bigint + n - $5::bigint
         )) AS copy`,
      [from, to, keyOf(0).slice(0, -10), firstExpiresInMs, RETAIN_MS],
    )
    await pool.query(
      `UPDATE ${table} SET (${others}) = (SELECT ${others} FROM ${table}_completed), expires_at = expires_at + 1
       WHERE event_key BETWEEN $1 AND $2`,
      [keyOf(from), keyOf(to)],
    )
    await pool.query(`VACUUM ${table}`)
  }
  await pool.query(`DROP TABLE ${table}_running, ${table}_completed`)
  await pool.query(`ANALYZE ${table}`)
  await pool.query('CHECKPOINT')
}

/** The disk space of the table and its indexes. */
export async function sizeOf(pool: Pool, table: string): Promise<number> {
  const { rows } = await pool.query<{ size: string }>('SELECT pg_total_relation_size($1::regclass) AS size', [
    table,
  ])
  return Number(rows[0]?.size)
}

async function columnsOf(pool: Pool, table: string): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    'SELECT attname AS name FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped',
    [table],
  )
  return rows.map(({ name }) => name)
}
