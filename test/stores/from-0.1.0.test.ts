/** The statements of examples/moving that fill the table of the ledger from the three tables of 0.1.0. */
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import type { LedgerInbox } from 'tix-webhooks'
import { mysqlInbox } from 'tix-webhooks/mysql'
import { postgresInbox } from 'tix-webhooks/postgres'
import { sqliteInbox } from 'tix-webhooks/sqlite'
import { expect, test } from 'vitest'
import { testMysqlDatabase } from '../support/mysql-database.js'
import { onMysql, onPostgres } from '../support/on-servers.js'
import { readPage } from '../support/pages.js'
import { testDatabase } from '../support/postgres-database.js'
import { openDatabase } from '../support/sqlite-open.js'

type Type = 'key' | 'text' | 'number' | 'date' | 'ms' | 'bytes'

/** The columns of 0.1.0 that are read. */
const TABLES: Readonly<Record<string, Readonly<Record<string, Type>>>> = {
  tix_webhooks: { key: 'key', state: 'text', attempt: 'number', token: 'text', expires_at: 'date' },
  tix_webhooks_inbox: { key: 'key', handled_at: 'date', expires_at: 'date' },
  tix_webhooks_inbox_newest: { subject: 'key', changed_at: 'text', rank: 'number', expires_at: 'date' },
  tix_webhooks_failures: {
    ...{ key: 'key', namespace: 'text', account: 'text', kind: 'text', event_id: 'text', order_id: 'text' },
    ...{
      signed_at: 'ms',
      secret_index: 'number',
      cause: 'text',
      code: 'text',
      message: 'text',
      state: 'text',
    },
    ...{ first_at: 'ms', last_at: 'ms', attempts: 'number', replays: 'number', last_replayed_at: 'ms' },
    raw_body: 'bytes',
  },
}

const DAY = 86_400_000
const now = Date.now()
const failure = {
  ...{ namespace: 'orders', account: 'acme', kind: 'order.created', event_id: null, order_id: 'ord_é' },
  ...{ signed_at: now - 3_000, secret_index: 1, cause: 'c0ffee', code: 'handler_failed', message: 'café' },
  ...{ first_at: now - DAY, last_at: now - 2_000, attempts: 3, replays: 1, last_replayed_at: now - 2_000 },
  raw_body: '{"a":1}',
}
const handled = { handled_at: now - DAY, expires_at: now + DAY }
const ROWS: readonly (readonly [table: string, row: Readonly<Record<string, string | number | null>>])[] = [
  ['tix_webhooks_inbox', { key: 'orders/k/inbox', ...handled }],
  ['tix_webhooks_inbox', { key: 'orders/k/over', handled_at: now - 9 * DAY, expires_at: now - DAY }],
  [
    'tix_webhooks',
    { key: 'orders/k/store', state: 'completed', attempt: 2, token: 't', expires_at: now + DAY },
  ],
  [
    'tix_webhooks',
    { key: 'orders/k/failing', state: 'released', attempt: 3, token: 't', expires_at: now + DAY },
  ],
  ['tix_webhooks_failures', { key: 'orders/k/inbox', state: 'failing', ...failure }],
  ['tix_webhooks_failures', { key: 'orders/k/failing', state: 'failing', ...failure }],
  ['tix_webhooks_failures', { key: 'orders/k/parked', state: 'parked', ...failure, account: null }],
  [
    'tix_webhooks_failures',
    { key: 'orders/k/forgotten', state: 'parked', ...failure, last_at: now - 31 * DAY },
  ],
  ['tix_webhooks_inbox_newest', { subject: 'evt_1', changed_at: '2026', rank: 1, expires_at: now + DAY }],
]

/** How a database spells the types and their values. */
interface Spelling {
  readonly types: Readonly<Record<Type, string>>
  readonly quote: string
  value(type: Type, value: string | number): string
}

function tablesOf({ types, quote, value }: Spelling): string[] {
  const named = (name: string): string => `${quote}${name}${quote}`
  return [
    ...Object.entries(TABLES).map(([table, columns]) => {
      const definitions = Object.entries(columns).map(([column, type]) => `${named(column)} ${types[type]}`)
      return `CREATE TABLE ${table} (${definitions.join(', ')})`
    }),
    ...ROWS.map(([table, row]) => {
      const values = Object.entries(row).map(([column, given]) =>
        given === null ? 'NULL' : value(TABLES[table]?.[column] ?? 'text', given),
      )
      return `INSERT INTO ${table} (${Object.keys(row).map(named).join(', ')}) VALUES (${values.join(', ')})`
    }),
  ]
}

interface Migrated {
  readonly inbox: Pick<LedgerInbox<unknown>, 'ledger' | 'once'> & {
    migrate(): Promise<void>
    isHandled(key: string): Promise<boolean>
  }
  run(sql: string): Promise<unknown>
}

async function expectMoved({ inbox, run }: Migrated, spelling: Spelling, file: string): Promise<void> {
  for (const statement of tablesOf(spelling)) await run(statement)
  await inbox.migrate()
  const { ledger } = inbox
  // Once more, as after a failure.
  for (const _ of [1, 2]) {
    for (const statement of readPage(`examples/moving/${file}`).split(/;$/m)) {
      if (statement.trim() !== '') await run(statement)
    }
  }
  const keys = ['inbox', 'over', 'store', 'failing', 'parked', 'forgotten'].map((name) => `orders/k/${name}`)
  expect(await Promise.all(keys.map((key) => inbox.isHandled(key)))).toEqual([
    true,
    false,
    true,
    false,
    false,
    false,
  ])
  expect(await ledger.get('orders/k/inbox')).toEqual({
    ...{ key: 'orders/k/inbox', namespace: 'orders', kind: '', state: 'handled', attempts: 1 },
    ...{ receivedAt: new Date(now - DAY), handledAt: new Date(now - DAY), expiresAt: new Date(now + DAY) },
  })
  expect(await ledger.get('orders/k/store')).toMatchObject({
    state: 'handled',
    attempts: 2,
    namespace: 'orders',
  })
  expect((await ledger.list({ order: 'oldest' })).map(({ key }) => key)).toEqual([
    'orders/k/failing',
    'orders/k/parked',
  ])
  expect(await ledger.get('orders/k/parked')).not.toHaveProperty('account')
  expect(await ledger.get('orders/k/failing')).toEqual({
    ...{
      key: 'orders/k/failing',
      namespace: 'orders',
      account: 'acme',
      kind: 'order.created',
      orderId: 'ord_é',
    },
    ...{
      state: 'failing',
      attempts: 3,
      receivedAt: new Date(now - DAY),
      expiresAt: new Date(now - 2_000 + 30 * DAY),
    },
    ...{
      signedAt: new Date(now - 3_000),
      secretIndex: 1,
      size: 7,
      rawBody: new TextEncoder().encode('{"a":1}'),
    },
    failure: {
      ...{ code: 'handler_failed', message: 'café', group: 'c0ffee', count: 2, replays: 1 },
      ...{ firstAt: new Date(now - DAY), lastAt: new Date(now - 2_000), deliveredAt: new Date(now - 2_000) },
      lastReplayedAt: new Date(now - 2_000),
    },
  })
  const request = { retainMs: 30 * DAY, about: { namespace: 'orders', kind: 'k' } }
  const opened = ['inbox', 'parked'].map((name) =>
    inbox.once({ ...request, key: `orders/k/${name}` }, async () => {}),
  )
  expect(await Promise.all(opened)).toEqual([{ status: 'duplicate' }, { status: 'parked' }])
  // It is there already.
  const again = 'INSERT INTO tix_webhooks_events_newest SELECT * FROM tix_webhooks_events_newest'
  await expect(run(again)).rejects.toThrow()
}

const text = (value: string | number): string => (typeof value === 'number' ? `${value}` : `'${value}'`)

onPostgres('of Postgres', () => {
  const database = testDatabase()

  test('carry over what was handled and what failed', async () => {
    const pool = new Pool({ connectionString: database.url, options: database.settings(), max: 1 })
    const types = {
      key: 'text PRIMARY KEY',
      text: 'text',
      number: 'bigint',
      date: 'timestamptz',
      ms: 'timestamptz',
      bytes: 'bytea',
    }
    const value = (type: Type, given: string | number): string =>
      type === 'date' || type === 'ms' ? `to_timestamp(${given}::float8 / 1000)` : text(given)
    await expectMoved(
      { inbox: postgresInbox(pool, { purgeEverySeconds: false }), run: (sql) => pool.query(sql) },
      { types, quote: '"', value },
      'from-0.1.0.postgres.sql',
    )
    await pool.end()
  })
})

onMysql('of MySQL', () => {
  const database = testMysqlDatabase()

  test('carry over what was handled and what failed', async () => {
    const pool = createPool({ uri: database.url, connectionLimit: 1 })
    const types = {
      ...{
        key: 'VARBINARY(255) PRIMARY KEY',
        text: 'VARCHAR(255) CHARACTER SET utf8mb4',
        number: 'INT UNSIGNED',
      },
      ...{ date: 'DATETIME(6)', ms: 'BIGINT', bytes: 'LONGBLOB' },
    }
    const value = (type: Type, given: string | number): string =>
      type === 'date' ? `TIMESTAMPADD(MICROSECOND, ${given}000, '1970-01-01')` : text(given)
    await expectMoved(
      { inbox: mysqlInbox(pool, { purgeEverySeconds: false }), run: (sql) => pool.query(sql) },
      { types, quote: '`', value },
      'from-0.1.0.mysql.sql',
    )
    await pool.end()
  })
})

test('those of SQLite carry over what was handled and what failed', async () => {
  const db = openDatabase('libsql', ':memory:')
  const types = {
    key: 'TEXT PRIMARY KEY',
    text: 'TEXT',
    number: 'INTEGER',
    date: 'INTEGER',
    ms: 'INTEGER',
    bytes: 'BLOB',
  }
  const value = (type: Type, given: string | number): string =>
    type === 'bytes' ? `CAST('${given}' AS BLOB)` : text(given)
  await expectMoved(
    { inbox: sqliteInbox(db, { purgeEverySeconds: false }), run: async (sql) => db.exec(sql) },
    { types, quote: '"', value },
    'from-0.1.0.sqlite.sql',
  )
  db.close()
})
