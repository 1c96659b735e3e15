import { ddl, mysqlInbox, mysqlStore } from 'tix-webhooks/mysql'
import { expect, test } from 'vitest'
import { failedDelivery } from '../../support/failed-delivery.js'
import { testMysqlDatabase } from '../../support/mysql-database.js'
import { onMysql } from '../../support/on-servers.js'
import { type AnyPool, POOLS } from './pools.js'

const DAY_MS = 86_400_000
const KEYS = ['a', 'b', 'c', 'd', 'e']
const lease = (key: string) => ({ key, token: 't', leaseMs: DAY_MS, retainMs: DAY_MS })
const all = (call: (key: string) => Promise<unknown>): Promise<unknown> => Promise.all(KEYS.map(call))

/** The words of a statement, so that one for many keys is the same as one for two. */
const wordsOf = (sql: string): string =>
  [...new Set(sql.replaceAll(/'[^']*'/g, ' ').match(/[A-Za-z_]+/g))].join(' ')

/** A pool whose server refuses a statement, as one that does not know its words. */
function refusing(pool: AnyPool) {
  const sent = new Set<string>()
  let refused: string | undefined
  const query = (connection: { query(options: unknown): unknown }, options: { sql: string }): unknown => {
    const words = wordsOf(options.sql)
    sent.add(words)
    if (words !== refused) return connection.query(options)
    return Promise.reject(
      Object.assign(new Error('refused'), { errno: 1064, sqlState: '42000', fatal: false }),
    )
  }
  const bound = (target: object, name: string | symbol): unknown => {
    const value: unknown = Reflect.get(target, name)
    return typeof value === 'function' ? value.bind(target) : value
  }
  const wrapped = new Proxy(pool, {
    get: (_, name) => {
      if (name !== 'getConnection') return bound(pool, name)
      return async () => {
        const connection = await pool.getConnection()
        return new Proxy(connection, {
          get: (target, member) =>
            member === 'query'
              ? (options: { sql: string }) => query(target as never, options)
              : bound(target, member),
        })
      }
    },
  })
  const refuse = (words?: string): void => {
    refused = words
  }
  return { pool: wrapped, sent, refuse }
}

const PARTS = [
  {
    part: 'a store',
    make(pool: AnyPool) {
      const store = mysqlStore(pool, { purgeEverySeconds: false })
      async function deliver(): Promise<void> {
        for (const call of [all, (one: (key: string) => Promise<unknown>) => one('alone')]) {
          await call((key) => store.claim(lease(key)))
          await call((key) => store.renew(lease(key), DAY_MS))
          await call((key) => store.release(lease(key)))
          await call((key) => store.complete(lease(key), DAY_MS))
          await call((key) => store.isHandled(key))
        }
        await store.fail(lease('failed'), failedDelivery({ key: 'failed' }))
        await store.claim(lease('failed'))
        await store.keep(failedDelivery())
        await store.ledger.discard('failed', { reason: 'by hand' })
      }
      return { deliver, check: store.check, migrate: store.migrate }
    },
  },
  {
    part: 'an inbox',
    make(pool: AnyPool) {
      const inbox = mysqlInbox(pool, { purgeEverySeconds: false })
      async function deliver(): Promise<void> {
        const request = { key: 'k', retainMs: DAY_MS }
        const during = () => inbox.once(request, () => expect.fail('It ran'))
        await inbox.once(request, async () => {
          expect(await during()).toEqual({ status: 'in_flight' })
        })
        expect(await during()).toEqual({ status: 'duplicate' })
        expect(await inbox.isHandled('k')).toBe(true)
        await inbox.keep(failedDelivery())
        await inbox.once({ ...request, key: failedDelivery().key }, async () => {})
      }
      return { deliver, check: inbox.check, migrate: inbox.migrate }
    },
  },
]

onMysql.each(POOLS)('check() and migrate() over $name', ({ open }) => {
  const database = testMysqlDatabase(ddl)

  test.each(PARTS)(
    'of $part reject if the server refuses a statement of its deliveries',
    async ({ make }) => {
      const { pool, sent, refuse } = refusing(open(database))
      const { deliver, check, migrate } = make(pool)
      await deliver()
      const statements = [...sent]
      expect(statements.length).toBeGreaterThan(3)
      await check()
      await migrate()
      const missed: string[] = []
      for (const words of statements) {
        // It is asked once, and known since.
        if (/DATABASE|autocommit LIMIT$|innodb_flush|hostname/.test(words) && words.startsWith('SELECT'))
          continue
        refuse(words)
        for (const call of [check, migrate])
          await call().then(
            () => missed.push(words),
            () => {},
          )
      }
      expect(missed).toEqual([])
      refuse()
      await check()
    },
  )
})
