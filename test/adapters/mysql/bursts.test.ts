import type { ClaimResult, IdempotencyStore } from 'tix-webhooks'
import { ddl, mysqlFailures, mysqlStore } from 'tix-webhooks/mysql'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { failedDelivery } from '../../support/failed-deliveries.js'
import { testMysqlDatabase } from '../../support/mysql-database.js'
import { onMysql } from '../../support/on-servers.js'
import { startProxy } from '../../support/tcp-proxy.js'
import { MARIADB, MYSQL2, POOLS, untilWaiting } from './pools.js'

const HOUR_MS = 3_600_000
const TIMES = { leaseMs: HOUR_MS, retainMs: 24 * HOUR_MS }
const KEYS = Array.from({ length: 150 }, (_, i) => `order ${(i * 67) % 150}`)

const claimed = (attempt: number): ClaimResult => ({ status: 'claimed', attempt })
const IN_FLIGHT = { status: 'in_flight', retryAfterMs: expect.any(Number) }

function each<T>(keys: readonly string[], call: (key: string) => Promise<T>): Promise<T[]> {
  return Promise.all(keys.map(call))
}

const claimAll = (store: IdempotencyStore, keys: readonly string[], token = 'a') =>
  each(keys, async (key) => store.claim({ key, token, ...TIMES }))

onMysql('a burst of calls', () => {
  const database = testMysqlDatabase(...ddl.split(';\n').filter((statement) => statement.trim() !== ''))
  beforeEach(async () => {
    await database.query('DROP TRIGGER IF EXISTS refuse')
    await database.query('DELETE FROM tix_webhooks')
  })

  describe.each(POOLS)('over $name', ({ open }) => {
    /** A proxy before the server, and the database through it. */
    async function proxied() {
      const { hostname, port } = new URL(database.url)
      const proxy = await startProxy({ host: hostname, port: Number(port || 3306) })
      onTestFinished(() => proxy.close())
      const url = new URL(database.url)
      url.hostname = '127.0.0.1'
      url.port = `${proxy.port}`
      return { proxy, through: { url: url.href } }
    }

    test('is answered as the calls would be one by one, with four connections and few round trips', async () => {
      const { proxy, through } = await proxied()
      const store = mysqlStore(open(through, { connectionLimit: 10 }))
      const all = <T>(answer: T): T[] => KEYS.map(() => answer)
      // It connects, as often as it will.
      for (const kind of ['warm', 'warmer'])
        await claimAll(
          store,
          KEYS.map((key) => `${kind} ${key}`),
        )

      const before = proxy.roundTrips
      expect(await claimAll(store, KEYS)).toEqual(all(claimed(1)))
      // Two bursts: each begins a transaction, writes, reads and commits.
      expect(proxy.roundTrips - before).toBe(8)
      expect(await claimAll(store, KEYS)).toEqual(all(claimed(1)))
      const denied = await claimAll(store, KEYS, 'b')
      expect(denied).toEqual(all(IN_FLIGHT))
      for (const answer of denied)
        expect(answer.status === 'in_flight' && answer.retryAfterMs).toBeGreaterThan(HOUR_MS / 2)

      // All four kinds at once, of which the second half has another holder.
      const half = KEYS.length / 2
      await database.query('UPDATE tix_webhooks SET token = ? WHERE `key` IN (?)', ['c', KEYS.slice(half)])
      const firstHalf = KEYS.map((_, i) => i < half)
      const [renewed, claims, completed, released] = await Promise.all([
        each(KEYS, (key) => store.renew({ key, token: 'a' }, 2 * HOUR_MS)),
        claimAll(
          store,
          KEYS.map((key) => `new ${key}`),
        ),
        each(KEYS, (key) => store.complete({ key: `absent ${key}`, token: 'a' }, HOUR_MS)),
        each(KEYS, (key) => store.release({ key: `unknown ${key}`, token: 'b' })),
      ])
      expect([renewed, claims, completed, released]).toEqual([
        firstHalf,
        all(claimed(1)),
        all(true),
        all(false),
      ])
      expect(
        await database.column(
          "SELECT COUNT(*) FROM tix_webhooks WHERE state = 'running' AND attempt = 1 AND expires_at > UTC_TIMESTAMP() + INTERVAL 23 HOUR AND lease_until > UTC_TIMESTAMP() + INTERVAL 90 MINUTE",
        ),
      ).toEqual([half])

      expect(await each(KEYS, (key) => store.release({ key, token: 'a' }))).toEqual(firstHalf)
      // After its own release a claim changes nothing.
      expect(await claimAll(store, KEYS.slice(0, half))).toEqual(
        KEYS.slice(0, half).map(() => ({ status: 'in_flight', retryAfterMs: 1 })),
      )
      expect(await claimAll(store, KEYS, 'b')).toEqual(
        KEYS.map((_, i) => (i < half ? claimed(2) : IN_FLIGHT)),
      )
      expect(await each(KEYS, (key) => store.complete({ key, token: 'b' }, HOUR_MS))).toEqual(firstHalf)
      expect(await each(KEYS, (key) => store.isHandled(key))).toEqual(firstHalf)
      expect(await claimAll(store, KEYS.slice(0, half), 'd')).toEqual(
        KEYS.slice(0, half).map(() => ({ status: 'completed' })),
      )
      expect(proxy.connections).toBeLessThanOrEqual(4)
    })

    test('of one key grants one, and answers the others in the order of their arrival', async () => {
      const store = mysqlStore(open(database))
      const tokens = Array.from({ length: 40 }, (_, i) => `t${i}`)
      const answers = await each(tokens, (token) => store.claim({ key: 'same', token, ...TIMES }))
      expect(answers).toEqual([claimed(1), ...tokens.slice(1).map(() => IN_FLIGHT)])
    })

    test('passes without the record that a trigger refuses', async () => {
      await database.query(
        "CREATE TRIGGER refuse BEFORE INSERT ON tix_webhooks FOR EACH ROW IF NEW.`key` = 'order 7' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not this one'; END IF",
      )
      const settled = await Promise.allSettled(
        KEYS.map((key) => mysqlStoreOf(database).claim({ key, token: 'a', ...TIMES })),
      )
      expect(
        settled.flatMap((one, i) => (one.status === 'rejected' ? [KEYS[i], one.reason.code] : [])),
      ).toEqual(['order 7', 'store_unavailable'])
      expect(await database.column('SELECT COUNT(*) FROM tix_webhooks')).toEqual([KEYS.length - 1])
    })

    test('passes without the record that a CHECK refuses', async () => {
      await database.query("ALTER TABLE tix_webhooks ADD CONSTRAINT short CHECK (`key` <> 'order 9')")
      onTestFinished(
        async () => void (await database.query('ALTER TABLE tix_webhooks DROP CONSTRAINT short')),
      )
      const settled = await Promise.allSettled(
        KEYS.map((key) => mysqlStoreOf(database).complete({ key, token: 'a' }, HOUR_MS)),
      )
      expect(settled.flatMap((one, i) => (one.status === 'rejected' ? [KEYS[i]] : []))).toEqual(['order 9'])
    })

    let opened: { at: object; store: ReturnType<typeof mysqlStore> } | undefined
    /** One store for all calls of a test. */
    function mysqlStoreOf(at: typeof database): ReturnType<typeof mysqlStore> {
      if (opened?.at !== at) {
        opened = { at, store: mysqlStore(open(at)) }
        onTestFinished(() => {
          opened = undefined
        })
      }
      return opened.store
    }

    test('is sent again when the server ends it for a deadlock with another transaction', async () => {
      const store = mysqlStore(open(database))
      await claimAll(store, ['a', 'b'])
      await using other = await database.connect()
      await other.query('START TRANSACTION')
      // It has written more, so that the server ends the other one.
      await other.query('DELETE FROM tix_webhooks_inbox_locks WHERE slot < 200')
      await other.query("SELECT * FROM tix_webhooks WHERE `key` = 'b' FOR UPDATE")
      // It locks a, and waits for b.
      const claims = claimAll(store, ['a', 'b'], 'other')
      await untilWaiting(database, 'INSERT INTO')
      await other.query("SELECT * FROM tix_webhooks WHERE `key` = 'a' FOR UPDATE")
      await other.query('ROLLBACK')
      expect(await claims).toEqual([IN_FLIGHT, IN_FLIGHT])
    })
  })

  // Of neighbouring keys that are not there, each waits for the gap that the other one has locked.
  test('is sent again after a deadlock with other processes whose keys are between its own', async () => {
    const deadlocks = async (): Promise<number> =>
      Number((await database.query("SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'"))[0]?.Value)
    const before = await deadlocks()
    const stores = [MYSQL2, MARIADB, MYSQL2].map(({ open }) => mysqlStore(open(database)))
    for (let round = 0; round < 6 && (round < 1 || (await deadlocks()) === before); round++) {
      const keysOf = (i: number): string[] => KEYS.map((key) => `${round} ${key} ${i}`)
      const answers = await Promise.all(
        stores.map((store, i) => claimAll(store, i === 1 ? keysOf(i).reverse() : keysOf(i))),
      )
      expect(answers.flat()).toEqual(stores.flatMap(() => KEYS.map(() => claimed(1))))
      const done = await Promise.all(
        stores.map((store, i) => each(keysOf(i), (key) => store.complete({ key, token: 'a' }, HOUR_MS))),
      )
      expect(done.flat()).not.toContain(false)
    }
  })

  test('that keep failures keeps them all, and counts each', async () => {
    const failures = mysqlFailures(MYSQL2.open(database, { connectionLimit: 8 }))
    const keys = Array.from({ length: 60 }, (_, i) => `test/${i % 20}`)
    await each(keys, async (key) => failures.keep(failedDelivery({ key })))
    expect((await failures.list()).map(({ attempts }) => attempts)).toEqual(Array(20).fill(3))
  })
})
