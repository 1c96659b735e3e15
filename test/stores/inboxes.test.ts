import { mysqlInbox } from 'tix-webhooks/mysql'
import { ddl } from 'tix-webhooks/postgres'
import { sqliteInbox } from 'tix-webhooks/sqlite'
import { inboxCases } from 'tix-webhooks/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  EFFECTS,
  MYSQL_EFFECTS,
  mysqlHarness,
  postgresHarness,
  sqliteHarness,
} from '../support/inbox-harnesses.js'
import { createMysql2, MYSQL_INBOX_CLIENTS } from '../support/mysql-clients.js'
import { testMysqlDatabase } from '../support/mysql-database.js'
import { mysqlUrl, onMysql, onPostgres, postgresUrl } from '../support/on-servers.js'
import { INBOX_CLIENTS } from '../support/postgres-clients.js'
import { testDatabase } from '../support/postgres-database.js'
import { onEachDriver } from '../support/sqlite-drivers.js'
import { startProxy, type TcpProxy } from '../support/tcp-proxy.js'

/** The library learns of a lost connection with its next statement. */
const LATE: Readonly<Record<string, string>> = { Kysely: 'lost-at-once' }

/** The library's own transaction: after a deadlock that a handler has caught, the server commits each further statement by itself. */
const KEPT: Readonly<Record<string, string>> = { Kysely: 'swallowed' }

const CASES = inboxCases.map((one) => [one.id, one.name, one] as const)

onPostgres.each(INBOX_CLIENTS)('postgresInbox over $name:', (library) => {
  const database = testDatabase(EFFECTS, ddl)
  let proxy: TcpProxy
  beforeAll(async () => {
    const { hostname: host, port } = new URL(postgresUrl())
    proxy = await startProxy({ host, port: Number(port || 5432) })
  })
  afterAll(() => proxy.close())

  test.each(CASES)('%s: it %s', async (id, _name, { run }) => {
    const harness = postgresHarness(library, database, proxy)
    if (LATE[library.name] !== id) return run(harness)
    await expect(run({ ...harness, timeoutMs: 500 })).rejects.toThrow('it has not ended after 0.5 s')
  })
})

// Drizzle hands on the connection of the same pool of mysql2.
onMysql.each(MYSQL_INBOX_CLIENTS.filter(({ name }) => name !== 'Drizzle on mysql2'))(
  'mysqlInbox over $name:',
  (library) => {
    const database = testMysqlDatabase(...MYSQL_EFFECTS)
    let proxy: TcpProxy
    beforeAll(async () => {
      const pool = createMysql2(database.url)
      await mysqlInbox(pool).migrate()
      await pool.end()
      const { hostname: host, port } = new URL(mysqlUrl())
      proxy = await startProxy({ host, port: Number(port || 3306) })
    })
    afterAll(() => proxy.close())

    test.each(CASES)('%s: it %s', async (id, _name, { run }) => {
      const harness = mysqlHarness(library, database, proxy)
      if (KEPT[library.name] === id) {
        return expect(run(harness)).rejects.toThrow('expected nothing to be written, but there is "after"')
      }
      if (LATE[library.name] !== id) return run(harness)
      await expect(run({ ...harness, timeoutMs: 500 })).rejects.toThrow('it has not ended after 0.5 s')
    })
  },
)

onEachDriver('sqliteInbox', (databases) => {
  test.each(CASES)('%s: it %s', async (_id, _name, { run }) => {
    const db = databases.open()
    db.exec(EFFECTS)
    await sqliteInbox(db).migrate()
    await run(sqliteHarness(db))
  })

  test('has no connection to lose, and its transaction no other in it', () => {
    const needs = new Set(inboxCases.map((one) => one.needs))
    const { fail, nest, cut, advance } = sqliteHarness(databases.open())
    const members = { fail, nest, cut, advance }
    expect([...needs].filter((need) => need !== undefined && members[need] === null)).toEqual(['nest', 'cut'])
  })
})
