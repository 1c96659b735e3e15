/** @module-tag slow */
import type { Purgeable } from 'tix-webhooks'
import { sqliteFailures, sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { describe, expect, test, vi } from 'vitest'
import { failed } from '../../support/failed-delivery.js'
import { DAY, HOUR, handle, testClock } from '../../support/sqlite-claims.js'
import { onEachDriver } from '../../support/sqlite-drivers.js'
import { type TestDatabase, valuesOf } from '../../support/sqlite-open.js'
import { advance, useVirtualTime } from '../../support/virtual-time.js'

interface Purged {
  readonly table: string
  make(db: TestDatabase, options: object): Purgeable & { migrate(): Promise<void> }
  /** Leaves a record that is kept for so long. */
  record(made: Purgeable, key: string, retainMs: number): Promise<unknown>
}

type Store = ReturnType<typeof sqliteStore>
type Inbox = ReturnType<typeof sqliteInbox>

const PURGED: Purged[] = [
  { table: 'tix_webhooks', make: sqliteStore, record: (store, key, ms) => handle(store as Store, key, ms) },
  {
    table: 'tix_webhooks_inbox',
    make: sqliteInbox,
    record: (inbox, key, retainMs) => (inbox as Inbox).once({ key, retainMs }, async () => {}),
  },
]

onEachDriver('purge', ({ open }) => {
  describe.each(PURGED)('of $table', ({ table, make, record }) => {
    async function filled(hours: readonly number[], options: object = {}) {
      const db = open()
      const clock = testClock()
      const made = make(db, { now: clock.now, ...options })
      await made.migrate()
      for (const hour of hours) await record(made, `${hour} h`, hour * HOUR)
      return { db, made, ...clock, keys: () => valuesOf(db, `SELECT key FROM ${table} ORDER BY expires_at`) }
    }

    test('deletes what is past its retention to the millisecond, and nothing else', async () => {
      const { made, jump, keys } = await filled([3, 1, 2])
      expect(await made.purge()).toBe(0)
      jump(2 * HOUR - 1)
      expect(await made.purge()).toBe(1)
      expect(keys()).toEqual(['2 h', '3 h'])
      jump(1)
      expect(await made.purge()).toBe(1)
      expect(keys()).toEqual(['3 h'])
      expect(await made.purge()).toBe(0)
    })

    test('deletes the oldest first, and no more than its limit', async () => {
      const { made, jump, keys } = await filled([4, 2, 5, 1, 3])
      jump(4 * HOUR)
      expect(await made.purge({ limit: 3 })).toBe(3)
      expect(keys()).toEqual(['4 h', '5 h'])
      expect(await made.purge({ limit: 3 })).toBe(1)
      expect(keys()).toEqual(['5 h'])
    })

    test('deletes 1,000 at a time where nothing else is said', async () => {
      const { db, made, jump } = await filled([])
      const insert =
        table === 'tix_webhooks'
          ? `INSERT INTO ${table} SELECT 'k' || value, 'running', 1, 't', 1, value`
          : `INSERT INTO ${table} SELECT 'k' || value, 1, value`
      db.exec(
        `${insert} FROM (WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n LIMIT 1500) SELECT value FROM n)`,
      )
      jump(0)
      expect(await made.purge()).toBe(1_000)
      expect(valuesOf(db, `SELECT min(expires_at) FROM ${table}`)).toEqual([1_001])
      expect(await made.purge({})).toBe(500)
    })

    describe('with purgeEverySeconds', () => {
      useVirtualTime()

      test('goes on by itself from the first call on, till nothing is left', async () => {
        const { db, made, jump, keys } = await filled([1, 2], { purgeEverySeconds: 300 })
        jump(HOUR)
        await advance(299)
        expect(keys()).toEqual(['1 h', '2 h'])
        await advance(1)
        expect(keys()).toEqual(['2 h'])
        jump(HOUR)
        await advance(300)
        expect(keys()).toEqual([])
        await record(made, 'many', HOUR)
        const copy =
          table === 'tix_webhooks' ? "'k' || value, 'running', 1, 't', 1, value" : "'k' || value, 1, value"
        db.exec(
          `INSERT INTO ${table} WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n LIMIT 2500) SELECT ${copy} FROM n`,
        )
        await advance(300)
        // Each thousand takes some turns more.
        await advance(1)
        await advance(1)
        expect(keys()).toEqual(['many'])
        vi.clearAllTimers()
      })
    })
  })

  describe('of failures, with purgeEverySeconds', () => {
    useVirtualTime()

    test('goes on by itself from the first one on', async () => {
      const clock = testClock()
      const failures = sqliteFailures(open(), { now: clock.now, purgeEverySeconds: 300 })
      await failures.migrate()
      expect(vi.getTimerCount()).toBe(0)
      for (const key of ['n/a', 'n/b']) await failures.keep(failed({ key, failedAt: new Date(clock.now()) }))
      expect(vi.getTimerCount()).toBe(1)
      clock.jump(30 * DAY)
      await advance(300)
      expect(await failures.count()).toBe(0)
      vi.clearAllTimers()
    })
  })
})
