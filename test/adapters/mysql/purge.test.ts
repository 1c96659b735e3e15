import { ddl, mysqlFailures, mysqlInbox, mysqlStore } from 'tix-webhooks/mysql'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { failedDelivery } from '../../support/failed-deliveries.js'
import { testMysqlDatabase } from '../../support/mysql-database.js'
import { onMysql } from '../../support/on-servers.js'
import { deferred } from '../../support/promises.js'
import { MYSQL2, POOLS } from './pools.js'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const claimOf = (key: string, token = 'new') => ({ key, token, leaseMs: HOUR_MS, retainMs: 2 * HOUR_MS })

onMysql('purge', () => {
  const database = testMysqlDatabase(ddl)
  const keysOf = (table: string, order: string): Promise<unknown[]> =>
    database.column(`SELECT CAST(\`key\` AS CHAR) FROM ${table} ORDER BY ${order}, \`key\``)
  const keys = (): Promise<unknown[]> => keysOf('tix_webhooks', 'expires_at')

  beforeEach(async () => {
    for (const end of ['', '_inbox', '_inbox_newest', '_failures'])
      await database.query(`DELETE FROM tix_webhooks${end}`)
  })

  /** Records of every state that are past their retention for as many hours as their number. */
  const insertExpired = (from: number, to: number) =>
    database.query(
      `INSERT INTO tix_webhooks SELECT CONCAT('old ', seq), ELT(1 + seq % 3, 'running', 'completed', 'released'), 1, 't',
        UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) - INTERVAL seq MINUTE, UTC_TIMESTAMP(6) - INTERVAL seq MINUTE, 0 FROM (
          WITH RECURSIVE numbers (seq) AS (SELECT ${from} UNION ALL SELECT seq + 1 FROM numbers WHERE seq < ${to}) SELECT seq FROM numbers
        ) AS listed`,
    )

  describe.each(POOLS)('over $name', ({ open }) => {
    test('deletes what is past its retention, the oldest first and no more than asked for', async () => {
      const store = mysqlStore(open(database))
      await insertExpired(1, 5)
      await store.claim(claimOf('kept'))
      expect(await store.purge({ limit: 2 })).toBe(2)
      expect(await keys()).toEqual(['old 3', 'old 2', 'old 1', 'kept'])
      expect([await store.purge({ limit: 10 }), await store.purge()]).toEqual([3, 0])
      expect(await keys()).toEqual(['kept'])
    })

    test('leaves alone what is being claimed, and does not wait for it', async () => {
      await insertExpired(1, 2)
      await using other = await database.connect()
      await other.query('START TRANSACTION')
      await other.query(
        "UPDATE tix_webhooks SET expires_at = UTC_TIMESTAMP(6) + INTERVAL 1 HOUR WHERE `key` = 'old 1'",
      )
      const store = mysqlStore(open(database))
      expect([await store.purge(), await store.purge()]).toEqual([1, 0])
      await other.query('COMMIT')
      expect(await store.purge()).toBe(0)
      expect(await keys()).toEqual(['old 1'])
    })

    test('of an inbox leaves alone what a handler runs, does not wait for it, and deletes no record that was taken again', async () => {
      const pool = open(database)
      const inbox = mysqlInbox(pool)
      for (const [key, hours] of [
        ['a', 2],
        ['b', 1],
        ['c', 3],
      ]) {
        await database.query(
          `INSERT INTO tix_webhooks_inbox (\`key\`, run, expires_at) VALUES ('${key}', 'r', UTC_TIMESTAMP(6) - INTERVAL ${hours} HOUR)`,
        )
      }
      const [entered, leave] = [deferred(), deferred()]
      const handling = inbox.once({ key: 'a', retainMs: HOUR_MS }, () => {
        entered.resolve()
        return leave.promise
      })
      await entered.promise
      expect(await inbox.purge({ limit: 1 })).toBe(1)
      expect(await keysOf('tix_webhooks_inbox', 'expires_at')).toEqual(['a', 'b'])
      expect([await inbox.purge(), await inbox.purge()]).toEqual([1, 0])
      leave.resolve()
      expect(await handling).toEqual({ status: 'handled' })
      expect(await inbox.purge()).toBe(0)
      expect(await inbox.once({ key: 'a', retainMs: HOUR_MS }, async () => {})).toEqual({
        status: 'duplicate',
      })
      // By the clock of the server in UTC, whether it was inserted or taken again.
      await inbox.once({ key: 'fresh', retainMs: HOUR_MS }, async () => {})
      expect(
        await database.column(
          'SELECT COUNT(*) FROM tix_webhooks_inbox WHERE ABS(TIMESTAMPDIFF(SECOND, handled_at, UTC_TIMESTAMP())) < 60',
        ),
      ).toEqual([2])
    })

    test('of failures and of changes deletes the oldest, and waits for nothing', async () => {
      const pool = open(database)
      const [inbox, failures] = [mysqlInbox(pool), mysqlFailures(pool)]
      for (const [key, days] of [
        ['test/1', 31],
        ['test/2', 33],
        ['test/3', 32],
        ['test/4', 29],
      ] as const) {
        await failures.keep(failedDelivery({ key, failedAt: new Date(Date.now() - days * DAY_MS) }))
      }
      await using other = await database.connect()
      await other.query('START TRANSACTION')
      await other.query("UPDATE tix_webhooks_failures SET attempts = 2 WHERE `key` = 'test/1'")
      expect(await failures.purge({ limit: 1 })).toBe(1)
      expect(await keysOf('tix_webhooks_failures', 'last_at')).toEqual(['test/3', 'test/1', 'test/4'])
      expect(await failures.purge()).toBe(1)
      await inbox.once({ key: 'k', retainMs: HOUR_MS }, async (tx) => {
        const list = ['a', 'b', 'c'].map((subject) => ({ subject, at: '2026-11-22T10:00:00Z' }))
        await inbox.isNewest(tx, list)
      })
      await database.query(
        "UPDATE tix_webhooks_inbox_newest SET expires_at = UTC_TIMESTAMP(6) WHERE subject <> 'c'",
      )
      await other.query("UPDATE tix_webhooks_inbox_newest SET expires_at = expires_at WHERE subject = 'a'")
      await other.query("SELECT * FROM tix_webhooks_inbox_newest WHERE subject = 'a' FOR UPDATE")
      expect([await inbox.purge(), await inbox.purge()]).toEqual([1, 0])
      await other.query('ROLLBACK')
      expect([await failures.purge(), await inbox.purge()]).toEqual([1, 1])
    })
  })

  test('deletes 1,000 at a time by default', async () => {
    const store = mysqlStore(MYSQL2.open(database))
    await insertExpired(1, 500)
    await insertExpired(501, 1_001)
    expect([await store.purge(), await store.purge()]).toEqual([1_000, 1])
  })

  test('in the background begins with the first call, and goes on', async () => {
    const pool = MYSQL2.open(database)
    // It connects by the real timers.
    await pool.query('SELECT 1')
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const store = mysqlStore(pool, { purgeEverySeconds: 60 })
    await insertExpired(1, 10)
    await vi.advanceTimersByTimeAsync(600_000)
    expect(await keys()).toHaveLength(10)
    await store.claim(claimOf('kept'))
    for (const _ of [1, 2]) {
      await vi.advanceTimersByTimeAsync(60_000)
      while ((await keys()).length !== 1) await vi.advanceTimersByTimeAsync(1)
      await insertExpired(1, 3)
    }
  })
})
