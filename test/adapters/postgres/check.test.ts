import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { Pool } from 'pg'
import postgres from 'postgres'
import { Discard, StoreError } from 'tix-webhooks'
import {
  ddl,
  type PostgresInboxOptions,
  postgresFailures,
  postgresInbox,
  postgresStore,
} from 'tix-webhooks/postgres'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { atOnce } from '../../support/at-once.js'
import { failedDelivery } from '../../support/failed-deliveries.js'
import { freePort } from '../../support/free-port.js'
import { notRefusedKeys } from '../../support/invalid-inputs.js'
import { onPostgres } from '../../support/on-servers.js'
import {
  INBOX_CLIENTS,
  type OpenClient,
  openPg,
  openPostgresJs,
  STORE_CLIENTS,
} from '../../support/postgres-clients.js'
import { type TestDatabase, testDatabase } from '../../support/postgres-database.js'
import { errorResponse } from '../../support/postgres-fatal.js'

const TABLES = ['tix_webhooks', 'tix_webhooks_inbox', 'tix_webhooks_inbox_newest', 'tix_webhooks_failures']
const HOUR_MS = 3_600_000

type Checked = { check(): Promise<void> }
type Settings = Readonly<Record<string, string>>

/** A store, an inbox or failures over each client, as one that can be checked. */
const CHECKED: readonly {
  name: string
  open(database: TestDatabase, settings?: Settings): Checked
}[] = [
  ...STORE_CLIENTS.map(({ name, open }) => ({
    name: `a store over ${name}`,
    open: (database: TestDatabase, settings: Settings = {}) => open(database, { settings }).store(),
  })),
  ...INBOX_CLIENTS.map(({ name, open }) => ({
    name: `an inbox over ${name}`,
    open: (database: TestDatabase, settings: Settings = {}) => open(database, { settings }).inbox(),
  })),
  ...INBOX_CLIENTS.map(({ name, open }) => ({
    name: `failures over ${name}`,
    open: (database: TestDatabase, settings: Settings = {}) => open(database, { settings }).failures(),
  })),
]

/** Expects an outage with this advice; its message shows nothing of the connection. */
async function expectUnavailable(work: Promise<unknown>, message: RegExp): Promise<void> {
  const error = await work.then(
    () => expect.fail('It resolved.'),
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(StoreError)
  expect(error).toMatchObject({ code: 'store_unavailable', message: expect.stringMatching(message) })
  expect((error as StoreError).message).not.toMatch(/postgres:\/\/|127\.0\.0\.1|localhost|hunter2/)
}

onPostgres('the check', () => {
  const database = testDatabase()
  const role = `${database.schema}_role`

  beforeEach(async () => {
    await database.query(`DROP TABLE IF EXISTS ${TABLES}`)
    await database.query(ddl)
  })

  /** A user of the server with these rights on all tables. */
  async function as(rights: string): Promise<Settings> {
    const { schema } = database
    await database.query(`CREATE ROLE ${role}; GRANT USAGE ON SCHEMA ${schema} TO ${role}`)
    onTestFinished(async () => void (await database.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`)))
    await database.query(`GRANT ${rights} ON ALL TABLES IN SCHEMA ${schema} TO ${role}`)
    return { role }
  }

  test('waits for a lock for less than a probe does, so that no statement stays on the server', async () => {
    const pool = openPg(database, { max: 1 })
    const holding = await pool.connect()
    onTestFinished(() => holding.release())
    await holding.query(`BEGIN; LOCK TABLE ${RECORDED.join()} IN ACCESS EXCLUSIVE MODE`)
    await atOnce(openAll(), ({ checked }) =>
      expectUnavailable(checked.check(), /^A lock was not free within lock_timeout: does a migration/),
    )
    await holding.query('ROLLBACK')
    await atOnce(openAll(), ({ checked }) => checked.check())
  })

  const openAll = (settings?: Settings) =>
    CHECKED.map(({ name, open }) => ({ name, checked: open(database, settings) }))
  const RECORDED = ['tix_webhooks', 'tix_webhooks_inbox', 'tix_webhooks_failures']

  test('resolves if all is there, with no more rights than deliveries need, and writes nothing', async () => {
    await database.query("INSERT INTO tix_webhooks VALUES ('k', 'running', 1, 't', now(), now(), now())")
    await database.query("INSERT INTO tix_webhooks_inbox VALUES ('k', now(), now())")
    await postgresFailures(openPg(database)).keep(failedDelivery())
    const rows = () =>
      Promise.all(RECORDED.map((table) => database.query(`SELECT ctid, xmin, xmax, key FROM ${table}`)))
    const before = await rows()
    const settings = await as('SELECT, INSERT, UPDATE')
    await database.query(`GRANT DELETE ON tix_webhooks_failures TO ${role}`)
    await atOnce(openAll(settings), async ({ checked }) => {
      await checked.check()
      await checked.check()
    })
    expect(await rows()).toEqual(before)
  })

  const MISSING = /^The table ".*" is missing: run \w+\.migrate/
  const OTHER_TABLE = /is of another version, or not ours: \w+\.migrate\(\) names what is missing/
  const NO_RIGHTS = /^The user of this connection has no rights on/
  const READ_ONLY = { default_transaction_read_only: 'on' }
  test.each<[string, (table: string) => string, string | Settings, RegExp]>([
    ['there is no table', (table) => `DROP TABLE ${table}`, {}, MISSING],
    [
      'a column is missing',
      (table) => `ALTER TABLE ${table} DROP ${table.endsWith('failures') ? 'raw_body' : 'expires_at'}`,
      {},
      OTHER_TABLE,
    ],
    [
      'the key is not unique',
      (table) => `ALTER TABLE ${table} DROP CONSTRAINT ${table}_pkey`,
      {},
      OTHER_TABLE,
    ],
    ['the user may not insert', () => '', 'SELECT, UPDATE', NO_RIGHTS],
    ['the user may not update', () => '', 'SELECT, INSERT', NO_RIGHTS],
    ['the user may not read', () => '', 'INSERT, UPDATE', NO_RIGHTS],
    ['transactions are read-only', () => '', READ_ONLY, /^This database is read-only/],
  ])('rejects if %s', async (_, statement, settings, message) => {
    for (const table of RECORDED) await database.query(statement(table))
    const opened = openAll(typeof settings === 'string' ? await as(settings) : settings)
    await atOnce(opened, async ({ checked }) => {
      await expectUnavailable(checked.check(), message)
      await expectUnavailable(checked.check(), message)
    })
  })

  test('rejects once the table is dropped, until it is back', async () => {
    const opened = openAll()
    await atOnce(opened, ({ checked }) => checked.check())
    await database.query(`DROP TABLE ${RECORDED}`)
    await atOnce(opened, ({ checked }) => expectUnavailable(checked.check(), MISSING))
    await database.query(ddl)
    await atOnce(opened, ({ checked }) => checked.check())
  })

  test('of an inbox does not ask for the table of isNewest, which not every app has', async () => {
    await database.query('DROP TABLE tix_webhooks_inbox_newest')
    await postgresInbox(openPg(database)).check()
  })

  test('of a store is not behind its own calls, and of each kind takes one connection', async () => {
    const pool = openPg(database, { max: 8 })
    const other = await openPg(database).connect()
    const store = postgresStore(pool)
    await store.check()
    await other.query('BEGIN')
    await other.query("INSERT INTO tix_webhooks VALUES ('k', 'running', 1, 't', now(), now(), now())")
    const lease = { token: 'a', leaseMs: HOUR_MS, retainMs: HOUR_MS }
    // The first claim waits for the other transaction, and the second one behind it.
    const claims = ['k', 'k'].map((key) => store.claim({ key, ...lease }))
    for (const one of [store, postgresInbox(pool), postgresFailures(pool)]) await one.check()
    expect(pool.totalCount).toBe(2)
    await other.query('ROLLBACK')
    other.release()
    expect(await Promise.all(claims)).toEqual(claims.map(() => ({ status: 'claimed', attempt: 1 })))
  })

  const allOf = (pool: Pool, sql: postgres.Sql): Checked[] => [
    ...[postgresStore(pool), postgresInbox(pool), postgresFailures(pool)],
    ...[postgresStore(sql), postgresInbox(sql), postgresFailures(sql)],
  ]

  /** A client of each library with another URL, which has a password. */
  function clientsOf(port: number) {
    const url = `postgres://app:hunter2@127.0.0.1:${port}/postgres`
    const pool = new Pool({ connectionString: url })
    const sql = postgres(url, { fetch_types: false })
    onTestFinished(async () => {
      await Promise.all([pool.end(), sql.end({ timeout: 0 })])
    })
    return allOf(pool, sql)
  }

  test('rejects if there is no server, without the password of the connection', async () => {
    for (const checked of clientsOf(await freePort())) {
      await expectUnavailable(checked.check(), /^There is no Postgres at the host and port/)
    }
  })

  test('rejects if the server refuses the password, and does not show it', async () => {
    const server = createServer((socket) => {
      socket.once('data', () =>
        socket.end(
          errorResponse({
            S: 'FATAL',
            V: 'FATAL',
            C: '28P01',
            M: 'password authentication failed for user "app" (hunter2)',
          }),
        ),
      )
      socket.on('error', () => {})
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    for (const checked of clientsOf((server.address() as AddressInfo).port)) {
      await expectUnavailable(
        checked.check(),
        /^Postgres refused the user or the password of the connection\.$/,
      )
    }
  })

  test('rejects if the pool is closed', async () => {
    const pool = openPg(database)
    const sql = openPostgresJs(database)
    const all = allOf(pool, sql)
    for (const checked of all) await checked.check()
    await Promise.all([pool.end(), sql.end()])
    for (const checked of all) await expectUnavailable(checked.check(), /^The pool is closed/)
  })
})

onPostgres.each(INBOX_CLIENTS)('isHandled of an inbox over $name', ({ open }) => {
  const database = testDatabase(ddl)
  const retainMs = HOUR_MS
  const openInbox = (client: OpenClient, options: PostgresInboxOptions = {}) => client.inbox(options)

  test('is true for a committed record within its retention, and for nothing else', async () => {
    const inbox = openInbox(open(database))
    expect(await inbox.isHandled('handled')).toBe(false)
    const during: boolean[] = []
    await inbox.once({ key: 'handled', retainMs }, async () => {
      during.push(await inbox.isHandled('handled'))
    })
    expect(during).toEqual([false])
    const failing = inbox.once({ key: 'failed', retainMs }, () => Promise.reject(new Error('no')))
    await expect(failing).rejects.toThrow('no')
    await inbox.once({ key: 'discarded', retainMs }, () => Promise.reject(new Discard()))
    const keys = ['handled', 'failed', 'discarded', 'HANDLED', 'handle%', 'unknown']
    const ask = () => Promise.all(keys.map((key) => inbox.isHandled(key)))
    expect(await ask()).toEqual([true, false, true, false, false, false])
    await database.query(
      "UPDATE tix_webhooks_inbox SET expires_at = now() - interval '1 ms' WHERE key = 'handled'",
    )
    expect(await ask()).toEqual([false, false, true, false, false, false])
    expect(await notRefusedKeys(inbox)).toEqual([])
  })

  test('rejects with advice if it cannot know', async () => {
    const inbox = openInbox(open(database), { table: 'nowhere' })
    await expectUnavailable(inbox.isHandled('k'), /^The table "nowhere" is missing: run inbox\.migrate/)
  })
})
