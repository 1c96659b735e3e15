import { Pool } from 'pg'
import postgres from 'postgres'
import { StoreError } from 'tix-webhooks'
import { ddl, postgresFailures, postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { atOnce } from '../../support/at-once.js'
import { failedDelivery } from '../../support/failed-deliveries.js'
import { freePort } from '../../support/free-port.js'
import { onPostgres } from '../../support/on-servers.js'
import { INBOX_CLIENTS, openPg, STORE_CLIENTS } from '../../support/postgres-clients.js'
import { type TestDatabase, testDatabase } from '../../support/postgres-database.js'

const TABLES = ['tix_webhooks', 'tix_webhooks_inbox', 'tix_webhooks_inbox_newest', 'tix_webhooks_failures']

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
  const OTHER_TABLE =
    /was created by another version or another program: \w+\.migrate\(\) lists the differences/
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

  test('of an inbox does not ask for the table of isNewest, which not every app has', async () => {
    await database.query('DROP TABLE tix_webhooks_inbox_newest')
    await postgresInbox(openPg(database)).check()
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
})
