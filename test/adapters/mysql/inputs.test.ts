import { drizzle } from 'drizzle-orm/mysql2'
import { createPool } from 'mysql2'
import mysql from 'mysql2/promise'
import { type MysqlInboxOptions, mysqlFailures, mysqlInbox, mysqlStore } from 'tix-webhooks/mysql'
import { afterAll, describe, expect, test } from 'vitest'
import {
  notRefusedInputs,
  notRefusedLimits,
  notRefusedOnces,
  notRefusedRequests,
} from '../../support/invalid-inputs.js'
import { testMysqlDatabase } from '../../support/mysql-database.js'
import { onMysql } from '../../support/on-servers.js'
import { MYSQL2, POOLS } from './pools.js'

// None of them connects before it is used.
const pool = mysql.createPool('mysql://root@127.0.0.1:1/none')
const callbacks = createPool('mysql://root@127.0.0.1:1/none')
afterAll(() => void callbacks.end(() => void pool.end()))

const FACTORIES: [string, (client: never, options?: object) => unknown][] = [
  ['mysqlStore', mysqlStore as (client: never, options?: object) => unknown],
  ['mysqlInbox', mysqlInbox as (client: never, options?: object) => unknown],
  ['mysqlFailures', mysqlFailures as (client: never, options?: object) => unknown],
]

describe.each(FACTORIES)('%s', (_, create) => {
  test('refuses anything but a pool, and names what it accepts', () => {
    const told = (type: string): string => `pool must be a pool of mysql2/promise or of mariadb, not ${type} `
    const rows: [client: unknown, message: string][] = [
      [undefined, told('undefined')],
      [null, told('null')],
      ['mysql://127.0.0.1/none', told('a string')],
      [mysql.createPool, told('a function')],
      [{}, told('an object')],
      [{ getConnection() {} }, told('an object')],
      [Promise.resolve(pool), told('a promise')],
    ]
    expect(notRefusedInputs((client: never) => create(client), rows)).toEqual([])
  })

  test('refuses invalid names of tables, and options that it does not have', () => {
    const tables = ['', 'a b', 'a`; DROP TABLE users; --', "a'", 'a.b.c', 'a.', '.a', '1a', 'täble', 'a\n']
    const rows: [options: object, message: RegExp][] = [
      ...[...tables, 'x'.repeat(49), `${'d'.repeat(65)}.t`, 7, ['a']].map((table): [object, RegExp] => [
        { table },
        /^table must be a name of 1 to 48 letters, digits and _/,
      ]),
      [{ tabel: 'typo' }, /tabel/],
      [{ purgeEverySecond: 1 }, /purgeEverySecond\b/],
      [{ purgeEverySeconds: 0 }, /^purgeEverySeconds must be .* above 0/],
      [{ retentionSeconds: 86_400 }, /retentionSeconds/],
    ]
    expect(notRefusedInputs((options: object) => create(pool as never, options), rows)).toEqual([])
  })

  test('connects to nothing, and starts nothing, when it is made', () => {
    create(pool as never, { purgeEverySeconds: 1 })
    const { _allConnections: all } = pool.pool as unknown as { _allConnections: { length: number } }
    expect(all.length).toBe(0)
  })
})

test('mysqlInbox refuses an idleTimeoutSeconds that is not from 1 to 86400', () => {
  const rows = [0, 0.5, -1, 86_401, Number.NaN, '60'].map((idleTimeoutSeconds): [unknown, RegExp] => [
    { idleTimeoutSeconds },
    /^idleTimeoutSeconds must be a number of seconds from 1 to 86400/,
  ])
  expect(notRefusedInputs((options: MysqlInboxOptions) => mysqlInbox(pool, options), rows)).toEqual([])
  for (const idleTimeoutSeconds of [1, 86_400]) {
    expect(() => mysqlInbox(pool, { idleTimeoutSeconds })).not.toThrow()
  }
})

test('as must be a function, and goes with a pool alone', () => {
  expect(() => mysqlInbox(pool, { as: drizzle({ client: pool }) as never })).toThrow(/as must be a function/)
  const driver = { transaction() {}, query() {} }
  expect(() => mysqlInbox(driver as never, { as: () => null })).toThrow(
    /use it with one of mysql2 or mariadb/,
  )
})

onMysql('over a server', () => {
  const database = testMysqlDatabase()
  const counts = () =>
    database.query(
      'SELECT (SELECT COUNT(*) FROM tix_webhooks) AS records, (SELECT COUNT(*) FROM tix_webhooks_inbox) AS handled',
    )

  test.each(POOLS)(
    'requests that the contract does not allow are refused, and write and run nothing: $name',
    async ({ open }) => {
      const pool = open(database)
      const [store, inbox] = [mysqlStore(pool), mysqlInbox(pool)]
      await store.migrate()
      await inbox.migrate()
      expect(await notRefusedRequests(store)).toEqual([])
      expect(await notRefusedLimits(store)).toEqual([])
      expect(await notRefusedOnces(inbox)).toEqual([])
      expect(await notRefusedLimits(inbox)).toEqual([])
      expect(await counts()).toEqual([{ records: 0, handled: 0 }])
    },
  )

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
