import { ddl, mysqlInbox, mysqlStore } from 'tix-webhooks/mysql'
import { beforeEach, expect, test } from 'vitest'
import { failedDelivery } from '../../support/failed-delivery.js'
import { testMysqlDatabase } from '../../support/mysql-database.js'
import { onMysql } from '../../support/on-servers.js'
import { type AnyPool, MYSQL2, POOLS } from './pools.js'

const ONCE = { key: 'k', retainMs: 60_000 }
const SLOTS = 65_536

/** Both, with the tables that `migrate` makes. */
const ROWS = [
  { make: (pool: AnyPool) => mysqlStore(pool), tables: ['tix_webhooks_events'] },
  {
    make: (pool: AnyPool) => mysqlInbox(pool),
    tables: ['tix_webhooks_events', 'tix_webhooks_events_locks', 'tix_webhooks_events_newest'],
  },
]

const statementsOf = (sql: string): string[] =>
  sql.split(';\n').filter((statement) => statement.trim() !== '')

onMysql('migrate', () => {
  const database = testMysqlDatabase()
  /** Makes the tables, but fills none, which takes most of the time. */
  async function createTables(sql: string): Promise<void> {
    for (const statement of statementsOf(sql)) {
      if (!/^\s*INSERT/.test(statement)) await database.query(statement)
    }
  }
  const tables = (): Promise<unknown[]> =>
    database.column(
      'SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() ORDER BY 1',
    )
  const slots = (): Promise<unknown[]> =>
    database.column('SELECT COUNT(*) + MIN(slot) + MAX(slot) FROM tix_webhooks_events_locks')

  beforeEach(async () => {
    for (const table of await tables()) await database.query(`DROP TABLE ${table}`)
  })

  test.each(POOLS)(
    'over $name finds its tables though a handler has left the connection with another database',
    async ({ open }) => {
      for (const { make, tables: made } of ROWS) {
        const pool = open(database, { connectionLimit: 1 })
        const part = make(pool)
        await part.migrate()
        await part.check()
        await pool.query('USE information_schema')
        await part.migrate()
        await part.check()
        expect(await tables()).toEqual(expect.arrayContaining(made))
      }
      expect(await slots()).toEqual([SLOTS + SLOTS - 1])
    },
  )

  test('refuses a table whose key is of another kind', async () => {
    for (const { make, tables } of ROWS) {
      const { ddl, migrate } = make(MYSQL2.open(database))
      await createTables(ddl)
      await database.query(`ALTER TABLE ${tables[0]} MODIFY event_key VARCHAR(200) NOT NULL`)
      await expect(migrate()).rejects.toThrow('missing or of another kind: event_key. ')
    }
  })

  test('refuses a table of an engine without transactions: MyISAM, Aria of MariaDB, MEMORY of MySQL', async () => {
    const isMariadb = await database.isMariadb()
    for (const { make, tables } of ROWS) {
      const { ddl, migrate } = make(MYSQL2.open(database))
      await createTables(ddl)
      for (const table of tables) {
        // A key of MyISAM is shorter than a subject or the id of an order, and MEMORY has no bodies.
        const ofMariadb = table.endsWith('locks') ? ['MyISAM', 'Aria'] : ['Aria']
        const engines = isMariadb ? ofMariadb : table.endsWith('events') ? [] : ['MEMORY']
        for (const engine of engines) {
          await database.query(`ALTER TABLE ${table} ENGINE = ${engine}`)
          await expect(migrate()).rejects.toThrow(
            `The table \`${database.name}\`.\`${table}\` is of the engine ${engine}, which has no transactions. Run ALTER TABLE`,
          )
        }
        await database.query(`ALTER TABLE ${table} ENGINE = InnoDB`)
      }
      await migrate()
    }
  })

  test('fills the table of locks, empty or with gaps, as after a dump without data, which is noticed over both clients', async () => {
    const inboxes = POOLS.map(({ open }) => mysqlInbox(open(database)))
    await createTables(ddl)
    const empty = {
      code: 'store_unavailable',
      message: `The table \`${database.name}\`.\`tix_webhooks_events_locks\` is empty or incomplete, as after a dump without data: run inbox.migrate(), which fills it.`,
    }
    const unexpected = (): never => expect.fail('It ran')
    for (const inbox of inboxes) {
      await expect(inbox.once(ONCE, unexpected)).rejects.toMatchObject(empty)
      await expect(inbox.check()).rejects.toMatchObject(empty)
      await expect(inbox.keep(failedDelivery())).rejects.toMatchObject(empty)
    }
    await inboxes[0]?.migrate()
    expect(await slots()).toEqual([SLOTS + SLOTS - 1])
    for (const [i, inbox] of inboxes.entries()) {
      expect(await inbox.once({ ...ONCE, key: `k${i}` }, async () => {})).toEqual({ status: 'handled' })
    }
    await database.query('DELETE FROM tix_webhooks_events_locks WHERE slot % 9 = 0')
    await inboxes[1]?.migrate()
    expect(await slots()).toEqual([SLOTS + SLOTS - 1])
  })

  test('passes over what is there in the exported ddl, which runs all at once, and fills the rest', async () => {
    await createTables(ddl)
    await MYSQL2.open(database, { more: { multipleStatements: true } }).query(ddl)
    expect(await tables()).toEqual(ROWS[1]?.tables)
    expect(await slots()).toEqual([SLOTS + SLOTS - 1])
  })

  test('says that there is no database', async () => {
    await expect(mysqlStore(MYSQL2.open({ url: new URL('/', database.url).href })).migrate()).rejects.toThrow(
      /^The connection has no database: name one/,
    )
    await expect(mysqlInbox(MYSQL2.open(database), { table: 'no_such.inbox' }).migrate()).rejects.toThrow(
      /^The database of the connection, or of the table option, does not exist/,
    )
  })

  test('needs no database of the connection for a table with that of its name, nor does its purge', async () => {
    const table = `${new URL(database.url).pathname.slice(1)}.expired`
    const inbox = mysqlInbox(MYSQL2.open({ url: new URL('/', database.url).href }), { table })
    await inbox.migrate()
    for (const key of ['a', 'b']) await inbox.once({ ...ONCE, key, maxRunMs: 60_000 }, async () => {})
    await database.query(`UPDATE ${table} SET expires_at = 0`)
    expect(await inbox.purge()).toBe(2)
  })
})
