import { join } from 'node:path'
import { Pool } from 'pg'
import type { FailedDelivery, LedgerStore, Purgeable } from 'tix-webhooks'
import { postgresStore } from 'tix-webhooks/postgres'
import { sqliteStore } from 'tix-webhooks/sqlite'
import { openDatabase, rowOf } from '../../test/support/sqlite-open.js'
import { ORDER_BYTES, orderBody } from '../receiver/orders.js'
import type { Bench } from '../support/bench.js'
import { timeOf } from '../support/calls.js'
import { short, spread } from '../support/figures.js'
import type { Table } from '../support/report.js'
import { alternate, estimateOf } from '../support/rounds.js'
import { keyOf, nextKey, RETAIN_MS } from './contender.js'
import { columnsOf } from './full-sqlite.js'
import { sizeOf } from './postgres-rows.js'

/**
 * A full backend: every hundredth failure is parked, nearly all are of one of fifty groups, and the oldest are older than they are to be
 * kept.
 */
interface Filled {
  readonly name: string
  readonly store: Kept
  readonly bytesPerFailure: number
  close(): Promise<void>
}

type Kept = LedgerStore & Purgeable

const RARE_GROUP = 'f'.repeat(16)
/** The failures that are looked for, by number. */
const MIDDLE = 1_000

/** The calls that are timed. */
const CALLS: readonly (readonly [name: string, call: (store: Kept) => unknown])[] = [
  ['keep, new', (store) => store.keep(failed(nextKey()))],
  ['keep, again', (store) => store.keep(failed(keyOf(MIDDLE)))],
  ['get', ({ ledger }) => ledger.get(keyOf(MIDDLE))],
  ['list: the newest 100', ({ ledger }) => ledger.list()],
  ['list: an order', ({ ledger }) => ledger.list({ orderId: orderOf(MIDDLE) })],
  ['list: 100 parked', ({ ledger }) => ledger.list({ state: 'parked' })],
  ['list: a rare group', ({ ledger }) => ledger.list({ group: RARE_GROUP })],
  ['groups', ({ ledger }) => ledger.groups()],
  ['count of parked', ({ ledger }) => ledger.count({ state: 'parked' })],
  ['purge: 1,000', (store) => store.purge({ limit: 1_000 })],
]

/** From the newest failure to the oldest: a few days more than they are kept. */
const AGE_MS = RETAIN_MS + 3 * 86_400_000

/** The time of each call, and the bytes of a failure, with a million of them. */
export async function ledgerMillion(bench: Bench): Promise<Table> {
  const count = bench.size(1_000_000, 20_000)
  const columns: string[][] = []
  const names: string[] = []
  for (const open of [onPostgres, onSqlite]) {
    bench.progress(`${count} failures`)
    const { name, store, bytesPerFailure, close } = await open(bench, count)
    const figures = await alternate(
      bench.size(8, 1),
      CALLS.map(
        ([, call]) =>
          () =>
            timeOf(async () => call(store), bench.size(3, 1)),
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

async function onPostgres(bench: Bench, count: number): Promise<Filled> {
  const { url } = await bench.postgres()
  const pool = new Pool({ connectionString: url, max: 2 })
  const store = postgresStore(pool, { table: 'kept', purgeEverySeconds: false })
  await store.migrate()
  await store.keep(failed('sample'))
  await pool.query(
    `INSERT INTO kept
     SELECT copy.* FROM generate_series(1, $1::int) AS n, kept AS sample,
       LATERAL jsonb_populate_record(sample, jsonb_build_object(
         'event_key', $2 || lpad(n::text, 10, '0'),
         'order_id', 'ord_' || lpad(n::text, 10, '0'),
         'received_at', sample.received_at - n * $3::bigint,
         'failed_at', sample.failed_at - n * $3::bigint,
         'expires_at', sample.expires_at - n * $3::bigint,
         'failure', CASE WHEN n % 100 = 0 THEN 'parked' ELSE 'failing' END,
         'cause', CASE WHEN n % 300000 = 1 THEN '${RARE_GROUP}' ELSE lpad((n % 50)::text, 16, '0') END
       )) AS copy`,
    [count, keyOf(0).slice(0, -10), stepMs(count)],
  )
  await pool.query("DELETE FROM kept WHERE event_key = 'sample'")
  await pool.query('VACUUM ANALYZE kept')
  await pool.query('CHECKPOINT')
  return {
    name: 'postgresStore, pg',
    store,
    bytesPerFailure: (await sizeOf(pool, 'kept')) / count,
    async close() {
      await pool.query('DROP TABLE kept')
      await pool.end()
    },
  }
}

async function onSqlite(bench: Bench, count: number): Promise<Filled> {
  const db = openDatabase('libsql', join(await bench.folder(), 'kept.db'))
  const store = sqliteStore(db, { purgeEverySeconds: false })
  await store.migrate()
  await store.keep(failed('sample'))
  const changed: Readonly<Record<string, string>> = {
    event_key: '@key',
    order_id: '@orderId',
    received_at: 'received_at - @age',
    failed_at: 'failed_at - @age',
    expires_at: 'expires_at - @age',
    failure: "CASE WHEN @n % 100 = 0 THEN 'parked' ELSE 'failing' END",
    cause: `CASE WHEN @n % 300000 = 1 THEN '${RARE_GROUP}' ELSE printf('%016d', @n % 50) END`,
  }
  const columns = columnsOf(db)
  const copy = db.prepare(`
    INSERT INTO tix_webhooks_events (${columns.join(', ')})
    SELECT ${columns.map((column) => changed[column] ?? column).join(', ')} FROM tix_webhooks_events WHERE event_key = 'sample'`)
  db.exec('BEGIN')
  for (let n = 1; n <= count; n++) {
    copy.run({ n, key: keyOf(n), orderId: orderOf(n), age: n * stepMs(count) })
  }
  db.exec("DELETE FROM tix_webhooks_events WHERE event_key = 'sample'")
  db.exec('COMMIT')
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  const { page_count: pages } = rowOf(db, 'PRAGMA page_count')
  const { page_size: size } = rowOf(db, 'PRAGMA page_size')
  return {
    name: 'sqliteStore, libsql',
    store,
    bytesPerFailure: (Number(pages) * Number(size)) / count,
    close: async () => void db.close(),
  }
}

/** From one failure to the next older one. */
function stepMs(count: number): number {
  return Math.round(AGE_MS / count)
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
    code: 'handler_failed',
    message: 'The handler of order.created threw: the printer is out of paper.',
    group: '0'.repeat(16),
    isReplay: false,
    retainMs: RETAIN_MS,
  }
}

function orderOf(n: number): string {
  return keyOf(n).slice(-14)
}
