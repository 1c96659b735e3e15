import type { ClaimResult, IdempotencyStore } from 'tix-webhooks'
import { ddl, mysqlStore } from 'tix-webhooks/mysql'
import { beforeEach, describe, expect, test } from 'vitest'
import { testMysqlDatabase } from '../../support/mysql-database.js'
import { onMysql } from '../../support/on-servers.js'
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
  const database = testMysqlDatabase(ddl)
  beforeEach(async () => {
    await database.query('DROP TRIGGER IF EXISTS refuse')
    await database.query('DELETE FROM tix_webhooks')
  })

  describe.each(POOLS)('over $name', ({ open }) => {
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
})
