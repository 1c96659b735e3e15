import { join } from 'node:path'
import { Pool } from 'pg'
import type { FailedDelivery, KeptFailures } from 'tix-webhooks'
import { postgresFailures } from 'tix-webhooks/postgres'
import { sqliteFailures } from 'tix-webhooks/sqlite'
import { openDatabase, rowOf } from '../../test/support/sqlite-open.js'
import { ORDER_BYTES, orderBody } from '../receiver/orders.js'
import type { Bench } from '../support/bench.js'
import { timeOf } from '../support/calls.js'
import { short, spread } from '../support/figures.js'
import type { Table } from '../support/report.js'
import { alternate, estimateOf } from '../support/rounds.js'
import { keyOf, nextKey } from './contender.js'
import { sizeOf } from './postgres-rows.js'

/**
 * A full backend: every hundredth failure is parked, nearly all are of one of fifty groups, and the oldest are older than they are to be
 * kept.
 */
interface Kept {
  readonly name: string
  readonly failures: KeptFailures
  readonly bytesPerFailure: number
  close(): Promise<void>
}

const RARE_GROUP = 'f'.repeat(16)
/** The failures that are looked for, by number. */
const MIDDLE = 1_000

/** The calls that are timed. */
const CALLS: readonly (readonly [name: string, call: (failures: KeptFailures) => Promise<unknown>])[] = [
  ['keep, new', (failures) => failures.keep(failed(nextKey()))],
  ['keep, again', (failures) => failures.keep(failed(keyOf(MIDDLE)))],
  ['get', (failures) => failures.get(keyOf(MIDDLE))],
  ['list: the newest 100', (failures) => failures.list()],
  ['list: an order', (failures) => failures.list({ orderId: orderOf(MIDDLE) })],
  ['list: 100 parked', (failures) => failures.list({ state: 'parked' })],
  ['list: a rare group', (failures) => failures.list({ group: RARE_GROUP })],
  ['groups', (failures) => failures.groups()],
  ['count of parked', (failures) => failures.count({ state: 'parked' })],
  ['purge: 1,000', (failures) => failures.purge({ limit: 1_000 })],
]

/** From the newest failure to the oldest: a few days more than they are kept. */
const AGE_SECONDS = 33 * 86_400

/** The time of each call, and the bytes of a failure, with a million of them. */
export async function keptMillion(bench: Bench): Promise<Table> {
  const count = bench.size(1_000_000, 20_000)
  const columns: string[][] = []
  const names: string[] = []
  for (const open of [keptOnPostgres, keptOnSqlite]) {
    bench.progress(`${count} failures`)
    const { name, failures, bytesPerFailure, close } = await open(bench, count)
    const figures = await alternate(
      bench.size(8, 1),
      CALLS.map(
        ([, call]) =>
          () =>
            timeOf(() => call(failures), bench.size(3, 1)),
      ),
    )
    const inMs = figures.map((times) => spread(estimateOf(times, 'time'), (us) => short(us / 1000)))
    names.push(name)
    columns.push([short(bytesPerFailure), ...inMs])
    await close()
  }
  const rows = ['bytes of one', ...CALLS.map(([name]) => `${name}, ms`)]
  return {
    title: `${count.toLocaleString('en')} failures`,
    columns: ['what', ...names],
    rows: rows.map((what, i) => [what, ...columns.map((column) => column[i] ?? '')]),
    notes: [
      'Orders of 0.3 KB. Bytes: table and indexes on the disk. One call at a time, on a connection of its own.',
    ],
  }
}

async function keptOnPostgres(bench: Bench, count: number): Promise<Kept> {
  const { url } = await bench.postgres()
  const pool = new Pool({ connectionString: url, max: 2 })
  const failures = postgresFailures(pool, { table: 'kept' })
  await failures.migrate()
  await failures.keep(failed('sample'))
  await pool.query(
    `INSERT INTO kept
     SELECT copy.* FROM generate_series(1, $1::int) AS n, kept AS sample,
       LATERAL jsonb_populate_record(sample, jsonb_build_object(
         'key', $2 || lpad(n::text, 10, '0'),
         'order_id', 'ord_' || lpad(n::text, 10, '0'),
         'last_at', now() - n * $3::float8 * interval '1 s',
         'state', CASE WHEN n % 100 = 0 THEN 'parked' ELSE 'failing' END,
         'cause', CASE WHEN n % 300000 = 1 THEN '${RARE_GROUP}' ELSE lpad((n % 50)::text, 16, '0') END
       )) AS copy`,
    [count, keyOf(0).slice(0, -10), AGE_SECONDS / count],
  )
  await pool.query("DELETE FROM kept WHERE key = 'sample'")
  await pool.query('VACUUM ANALYZE kept')
  await pool.query('CHECKPOINT')
  return {
    name: 'postgresFailures, pg',
    failures,
    bytesPerFailure: (await sizeOf(pool, 'kept')) / count,
    async close() {
      await pool.query('DROP TABLE kept')
      await pool.end()
    },
  }
}

async function keptOnSqlite(bench: Bench, count: number): Promise<Kept> {
  const db = openDatabase('libsql', join(await bench.folder(), 'kept.db'))
  const failures = sqliteFailures(db)
  await failures.migrate()
  await failures.keep(failed('sample'))
  const columns = db
    .prepare("SELECT name FROM pragma_table_info('tix_webhooks_failures')")
    .all()
    .map((row) => (row as { name: string }).name)
  const changed: Readonly<Record<string, string>> = {
    key: '@key',
    order_id: '@orderId',
    last_at: 'last_at - @age',
    state: "CASE WHEN @n % 100 = 0 THEN 'parked' ELSE 'failing' END",
    cause: `CASE WHEN @n % 300000 = 1 THEN '${RARE_GROUP}' ELSE printf('%016d', @n % 50) END`,
  }
  const copy = db.prepare(`
    INSERT INTO tix_webhooks_failures (${columns.join(', ')})
    SELECT ${columns.map((column) => changed[column] ?? column).join(', ')} FROM tix_webhooks_failures WHERE key = 'sample'`)
  db.exec('BEGIN')
  for (let n = 1; n <= count; n++) {
    copy.run({ n, key: keyOf(n), orderId: orderOf(n), age: Math.round((n * AGE_SECONDS * 1000) / count) })
  }
  db.exec("DELETE FROM tix_webhooks_failures WHERE key = 'sample'")
  db.exec('COMMIT')
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  const { page_count: pages } = rowOf(db, 'PRAGMA page_count')
  const { page_size: size } = rowOf(db, 'PRAGMA page_size')
  return {
    name: 'sqliteFailures, libsql',
    failures,
    bytesPerFailure: (Number(pages) * Number(size)) / count,
    close: async () => void db.close(),
  }
}

function failed(key: string): FailedDelivery {
  const now = new Date()
  return {
    key,
    namespace: 'orders',
    kind: 'order.created',
    orderId: key.slice(-14),
    rawBody: orderBody(ORDER_BYTES[0]),
    signedAt: now,
    secretIndex: 0,
    failedAt: now,
    code: 'handler_failed',
    message: 'The handler of order.created threw: the printer is out of paper.',
    group: '0'.repeat(16),
    isReplay: false,
  }
}

function orderOf(n: number): string {
  return keyOf(n).slice(-14)
}
