import { ddl, mysqlFailures, mysqlInbox, mysqlStore } from 'tix-webhooks/mysql'
import { beforeEach, describe, expect, test } from 'vitest'
import { failedDelivery } from '../../support/failed-deliveries.js'
import { testMysqlDatabase } from '../../support/mysql-database.js'
import { onMysql } from '../../support/on-servers.js'
import { type AnyPool, MARIADB, MYSQL2, POOLS } from './pools.js'

const CLAIM = { key: 'k', token: 't', leaseMs: 60_000, retainMs: 60_000 }
const ONCE = { key: 'k', retainMs: 60_000 }
const SLOTS = 65_536

interface Row {
  readonly name: string
  readonly make: (pool: AnyPool) => { readonly ddl: string; migrate(): Promise<void> }
  /** All tables that `migrate` makes, in the order of their names. */
  readonly tables: readonly [string, ...string[]]
  readonly indexes: readonly string[]
  /** The columns that a table of a key and an `expires_at` lacks. */
  readonly lacking: string
  /** Writes a row with the key `k`. */
  write(pool: AnyPool): Promise<unknown>
}

const ROWS: readonly Row[] = [
  {
    name: 'the store',
    make: (pool) => mysqlStore(pool),
    tables: ['tix_webhooks'],
    indexes: ['tix_webhooks_purge_after'],
    lacking: 'state, attempt, token, lease_until, purge_after, answer',
    write: (pool) => mysqlStore(pool).claim(CLAIM),
  },
  {
    name: 'the inbox',
    make: (pool) => mysqlInbox(pool),
    tables: ['tix_webhooks_inbox', 'tix_webhooks_inbox_locks', 'tix_webhooks_inbox_newest'],
    indexes: ['tix_webhooks_inbox_expires_at', 'tix_webhooks_inbox_newest_expires'],
    lacking: 'run, handled_at',
    write: (pool) => mysqlInbox(pool).once(ONCE, async () => {}),
  },
  {
    name: 'the failures',
    make: (pool) => mysqlFailures(pool),
    tables: ['tix_webhooks_failures'],
    indexes: ['cause', 'event_id', 'last_at', 'order_id'].map((end) => `tix_webhooks_failures_${end}`),
    lacking:
      'namespace, account, kind, event_id, order_id, signed_at, secret_index, cause, code, message, state, first_at, last_at, attempts, replays, last_replayed_at, raw_body',
    write: (pool) => mysqlFailures(pool).keep(failedDelivery({ key: 'k' })),
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
    database.column('SELECT COUNT(*) + MIN(slot) + MAX(slot) FROM tix_webhooks_inbox_locks')

  beforeEach(async () => {
    for (const table of await tables()) await database.query(`DROP TABLE ${table}`)
  })

  describe.each(POOLS)('over $name', ({ open }) => {
    test.each(ROWS)(
      'of $name makes its tables once, and finds them though a handler has left the connection with another database',
      async (row) => {
        const pool = open(database, { connectionLimit: 1 })
        const { migrate } = row.make(pool)
        await migrate()
        expect(await tables()).toEqual(row.tables)
        await row.write(pool)
        await migrate()
        await pool.query('USE information_schema')
        await migrate()
        await row.write(pool)
        expect(await database.column(`SELECT CAST(\`key\` AS CHAR) FROM ${row.tables[0]}`)).toEqual(['k'])
        expect(
          await database.column(
            "SELECT DISTINCT INDEX_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND INDEX_NAME <> 'PRIMARY' ORDER BY 1",
          ),
        ).toEqual(row.indexes)
        if (row.name === 'the inbox') expect(await slots()).toEqual([SLOTS + SLOTS - 1])
      },
    )
  })

  test('can run six times at once', async () => {
    const deploys = Array.from({ length: 6 }, (_, i) =>
      (i % 2 === 0 ? MYSQL2 : MARIADB).open(database, { connectionLimit: 3 }),
    )
    const all = ROWS.flatMap(({ make }) => deploys.map((pool) => make(pool).migrate()))
    const settled = await Promise.allSettled(all)
    expect(settled.flatMap((one) => (one.status === 'rejected' ? [String(one.reason.message)] : []))).toEqual(
      [],
    )
    expect(await tables()).toEqual(ROWS.flatMap((row) => row.tables).sort())
    expect(await slots()).toEqual([SLOTS + SLOTS - 1])
  })

  test.each(ROWS)(
    'of $name says which columns a table that is there lacks, and leaves it as it is',
    async (row) => {
      const [table] = row.tables
      await database.query(
        `CREATE TABLE ${table} (\`key\` VARBINARY(255) PRIMARY KEY, expires_at DATETIME(6), note TEXT)`,
      )
      const migrating = row.make(MYSQL2.open(database)).migrate()
      await expect(migrating).rejects.toMatchObject({
        code: 'store_unavailable',
        message: expect.stringContaining(
          `There is a table \`${database.name}\`.\`${table}\` in which these columns are missing or of another kind: ${row.lacking}. `,
        ),
      })
      await expect(migrating).rejects.toThrow(/Rename it, or choose another name with the table option/)
      expect(
        await database.column(
          'SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION',
          [table],
        ),
      ).toEqual(['key', 'expires_at', 'note'])
    },
  )

  test.each(ROWS)('of $name refuses a table without its key, or of another kind', async (row) => {
    const [table] = row.tables
    const { ddl, migrate } = row.make(MYSQL2.open(database))
    for (const [change, column] of [
      ['DROP PRIMARY KEY', 'key'],
      ['MODIFY `key` VARCHAR(200) NOT NULL', 'key'],
    ]) {
      await createTables(ddl)
      await database.query(`ALTER TABLE ${table} ${change}`)
      await expect(migrate()).rejects.toThrow(`missing or of another kind: ${column}. `)
      await database.query(`DROP TABLE ${table}`)
    }
  })

  test('refuses a table of the engine MyISAM or Aria, which has no transactions', async () => {
    for (const { make, tables } of ROWS) {
      const { ddl, migrate } = make(MYSQL2.open(database))
      await createTables(ddl)
      for (const table of tables) {
        // A key of MyISAM is shorter than a subject.
        for (const engine of table.endsWith('newest') ? ['Aria'] : ['MyISAM', 'Aria']) {
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
    const inboxes = POOLS.map(({ open }) => {
      const pool = open(database)
      return [mysqlInbox(pool), mysqlFailures(pool)] as const
    })
    await createTables(ddl)
    const empty = {
      code: 'store_unavailable',
      message: `The table \`${database.name}\`.\`tix_webhooks_inbox_locks\` is empty or incomplete, as after a dump without data: run inbox.migrate(), which fills it.`,
    }
    const unexpected = (): never => expect.fail('It ran')
    for (const [inbox, failures] of inboxes) {
      const joined = inbox.joinFailures?.(failures)
      await expect(inbox.once(ONCE, unexpected)).rejects.toMatchObject(empty)
      await expect(inbox.check()).rejects.toMatchObject(empty)
      await expect(joined?.keep(failedDelivery())).rejects.toMatchObject(empty)
    }
    await inboxes[0]?.[0].migrate()
    expect(await slots()).toEqual([SLOTS + SLOTS - 1])
    for (const [i, [inbox]] of inboxes.entries()) {
      expect(await inbox.once({ ...ONCE, key: `k${i}` }, async () => {})).toEqual({ status: 'handled' })
    }
    await database.query('DELETE FROM tix_webhooks_inbox_locks WHERE slot % 9 = 0')
    await inboxes[1]?.[0].migrate()
    expect(await slots()).toEqual([SLOTS + SLOTS - 1])
  })

  test('is the exported ddl, statement by statement or all at once', async () => {
    const all = ROWS.flatMap((row) => row.tables).sort()
    for (const statement of statementsOf(ddl)) await database.query(statement)
    expect(await tables()).toEqual(all)
    const pool = MYSQL2.open(database, { more: { multipleStatements: true } })
    for (const { make } of ROWS) await make(pool).migrate()
    for (const table of all.filter((one) => !one.endsWith('locks')))
      await database.query(`DROP TABLE ${table}`)
    await database.query('DELETE FROM tix_webhooks_inbox_locks WHERE slot > 65000')
    // It also passes over what is there.
    await pool.query(ddl)
    expect(await tables()).toEqual(all)
    expect(await slots()).toEqual([SLOTS + SLOTS - 1])
    expect(ddl).toBe(ROWS.map(({ make }) => make(pool).ddl).join('\n'))
  })

  test('says that the user may not create, and that there is no database', async () => {
    await expect(mysqlStore(MYSQL2.open({ url: new URL('/', database.url).href })).migrate()).rejects.toThrow(
      /^The connection has no database: name one/,
    )
    await expect(mysqlInbox(MYSQL2.open(database), { table: 'no_such.inbox' }).migrate()).rejects.toThrow(
      /^The database of the connection, or of the table option, does not exist/,
    )
  })
})
