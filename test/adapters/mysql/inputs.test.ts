import { drizzle } from 'drizzle-orm/mysql2'
import mysql from 'mysql2/promise'
import { mysqlFailures, mysqlInbox, mysqlStore } from 'tix-webhooks/mysql'
import { afterAll, expect, test } from 'vitest'
import { testMysqlDatabase } from '../../support/mysql-database.js'
import { onMysql } from '../../support/on-servers.js'
import { MYSQL2 } from './pools.js'

// None of them connects before it is used.
const pool = mysql.createPool('mysql://root@127.0.0.1:1/none')
afterAll(() => pool.end())

test('as must be a function, and goes with a pool alone', () => {
  expect(() => mysqlInbox(pool, { as: drizzle({ client: pool }) as never })).toThrow(/as must be a function/)
  const driver = { transaction() {}, query() {} }
  expect(() => mysqlInbox(driver as never, { as: () => null })).toThrow(
    /use it with one of mysql2 or mariadb/,
  )
})

onMysql('over a server', () => {
  const database = testMysqlDatabase()

  test.each(['Mixed_Case', 'x'.repeat(48), 'select', 'q1'])(
    'records are kept in a table named %s, with its database or without',
    async (table) => {
      const pool = MYSQL2.open(database)
      for (const name of [table, `${database.name}.${table}`]) {
        const store = mysqlStore(pool, { table: name })
        await store.migrate()
        const claim = { key: name.slice(0, 60), token: 'a', leaseMs: 60_000, retainMs: 60_000 }
        expect(await store.claim(claim)).toEqual({ status: 'claimed', attempt: 1 })
        expect(await store.complete(claim, 60_000)).toBe(true)
        const failures = mysqlFailures(pool, { table: `${name.slice(0, -2)}_f` })
        await failures.migrate()
        expect(await failures.list()).toEqual([])
      }
      expect(await database.column(`SELECT COUNT(*) FROM \`${table}\``)).toEqual([2])
    },
  )

  test.each(['y'.repeat(48), 'Mixed_Inbox'])('an inbox has its tables by the name %s', async (name) => {
    // Filling its locks takes most of the time: one has its database, too.
    const table = name === 'Mixed_Inbox' ? `${database.name}.${name}` : name
    const inbox = mysqlInbox(MYSQL2.open(database), { table })
    await inbox.migrate()
    expect(await inbox.once({ key: 'k', retainMs: 1 }, async () => {})).toEqual({ status: 'handled' })
    expect(await database.column(`SELECT COUNT(*) FROM \`${name}\``)).toEqual([1])
  })
})
