import { sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { orderCreated } from '../../support/deliveries.js'
import { failedDelivery } from '../../support/failed-delivery.js'
import { receiving } from '../../support/receiving.js'
import { claim, DAY, HOUR, handle, MINUTE, request, testClock } from '../../support/sqlite-claims.js'
import { onEachDriver } from '../../support/sqlite-drivers.js'
import { rowOf, type TestDatabase, valuesOf } from '../../support/sqlite-open.js'

const GRANTED = { status: 'claimed', attempt: 1 }

onEachDriver('the records of SQLite', ({ open }) => {
  async function migrated(options: { now?: () => number } = {}, db: TestDatabase = open()) {
    const given = { purgeEverySeconds: false, ...options } as const
    const [store, inbox] = [sqliteStore(db, given), sqliteInbox(db, given)]
    await inbox.migrate()
    return { db, store, inbox }
  }

  test('have times of a wall clock, which mean the same to another process', async () => {
    const before = Date.now()
    const { db, store } = await migrated()
    await store.claim(request('k', 'a', { leaseMs: HOUR, retainMs: DAY }))
    const after = Date.now()
    const { lease_until: lease, expires_at: expiry } = rowOf(db, 'SELECT * FROM tix_webhooks_events')
    for (const [time, ms] of [
      [lease, HOUR],
      [expiry, DAY],
    ] as const) {
      expect(time).toBeGreaterThanOrEqual(before + ms)
      expect(time).toBeLessThanOrEqual(after + ms)
    }
  })

  test('survive a clock that jumps back, which lengthens leases by as much', async () => {
    const { now, jump } = testClock()
    const { store } = await migrated({ now })
    await claim(store, 'running', 'a')
    await handle(store, 'completed')
    jump(-DAY)
    expect(await claim(store, 'running', 'b')).toEqual({ status: 'in_flight', retryAfterMs: MINUTE + DAY })
    expect(await claim(store, 'completed', 'b')).toEqual({ status: 'completed' })
    expect(await claim(store, 'new', 'b')).toEqual(GRANTED)
    expect(await store.purge()).toBe(0)
    expect(await store.renew({ key: 'running', token: 'a' }, MINUTE)).toBe(true)
    expect(await claim(store, 'running', 'b')).toEqual({ status: 'in_flight', retryAfterMs: MINUTE })
    expect(await store.complete({ key: 'running', token: 'a' }, DAY)).toBe(true)
  })

  test.each([Number.NaN, Number.POSITIVE_INFINITY, undefined, '0', new Date(0)])(
    'are not written by a clock that gives %s',
    async (value) => {
      const { db, store, inbox } = await migrated({ now: () => value as number })
      const lease = { key: 'k', token: 'a' }
      for (const call of [
        () => claim(store, 'k', 'a'),
        () => store.renew(lease, 1),
        () => store.complete(lease, 1),
        () => store.release(lease),
        () => store.purge(),
        () => inbox.purge(),
        () => inbox.once({ key: 'k', retainMs: 1 }, async () => expect.fail('It ran.')),
      ]) {
        await expect(call()).rejects.toMatchObject({
          code: 'misconfigured',
          message: expect.stringMatching(/^now returned /),
        })
      }
      expect(rowOf(db, 'SELECT count(*) AS rows FROM tix_webhooks_events')).toEqual({ rows: 0 })
      const on = { 'order.created': () => expect.fail('It ran.') }
      const { send } = receiving({ store, namespace: 'n', on })
      expect(await send(orderCreated())).toMatchObject({ outcome: 'misconfigured' })
    },
  )

  test('are missed by each delivery and each check if a trigger drops them', async () => {
    const { db, store, inbox } = await migrated()
    db.exec('CREATE TRIGGER drop_it BEFORE INSERT ON tix_webhooks_events BEGIN SELECT RAISE(IGNORE); END')
    for (const part of [{ store }, { inbox }]) {
      const on = { 'order.created': () => {} }
      const { send, reports } = receiving<unknown>({ ...part, namespace: 'n', on })
      expect(await send(orderCreated())).toMatchObject({ outcome: 'unavailable' })
      expect(reports).toMatchObject([
        { error: { message: expect.stringMatching(/^A row that was written/) } },
      ])
    }
    for (const part of [store, inbox]) {
      for (const call of [part.check(), part.keep(failedDelivery())])
        await expect(call).rejects.toThrow(/^A row that was written/)
    }
  })

  test('of recordIfNewest are refused outside of commit, with another database, and of a change that is none', async () => {
    const { db, inbox } = await migrated()
    const change = { subject: 'evt_1', at: '2026-11-22T10:00:01Z' }
    const message = /^recordIfNewest must be called in the callback of ctx.tx.commit/
    expect(() => inbox.recordIfNewest(db, change)).toThrow(TypeError)
    await inbox.once({ key: null, retainMs: DAY }, async (tx) => {
      expect(() => inbox.recordIfNewest(db, change)).toThrow(message)
      tx.commit((handed) => {
        expect(() => inbox.recordIfNewest(open(), change)).toThrow(message)
        expect(() => inbox.recordIfNewest(undefined as never, change)).toThrow(message)
        expect(() => inbox.recordIfNewest(handed, { ...change, subject: '' })).toThrow(/^subject must be/)
        expect(() => inbox.recordIfNewest(handed, { ...change, at: 'soon' })).toThrow(/^at must be/)
      })
      expect(() => inbox.recordIfNewest(db, change)).toThrow(message)
    })
    const subjects = 'SELECT subject FROM tix_webhooks_events_newest'
    expect(valuesOf(db, subjects)).toEqual([])
    // A second inbox of the database, which was not used before.
    const other = sqliteInbox(db)
    await inbox.once({ key: null, retainMs: DAY }, async (tx) => {
      expect(tx.commit((handed) => other.recordIfNewest(handed, change))).toBe(true)
    })
    expect(valuesOf(db, subjects)).toEqual(['evt_1'])
  })

  describe('of calls that arrive in one turn of the event loop', () => {
    /** A store on a connection that counts its transactions, and can fail at a COMMIT. */
    async function counting() {
      const db = open()
      const counted = {
        begun: 0,
        committed: 0,
        failures: 0,
        prepare: (sql: string) => db.prepare(sql),
        exec(sql: string) {
          if (sql.startsWith('BEGIN')) counted.begun += 1
          if (sql === 'COMMIT') {
            counted.committed += 1
            if (counted.failures-- > 0) throw new Error('disk I/O error')
          }
          return db.exec(sql)
        },
        close() {},
      }
      const { store } = await migrated({}, counted)
      return { db, counted, store }
    }

    test('are committed together, whatever they are, in the order of their arrival', async () => {
      const { counted, store } = await counting()
      const kept = { key: 'kept', token: 'a' }
      await claim(store, 'kept', 'a')
      await claim(store, 'failed', 'a')
      counted.committed = 0
      vi.useFakeTimers()
      onTestFinished(() => void vi.useRealTimers())
      expect(
        await Promise.all([
          claim(store, 'new', 'a'),
          store.renew(kept, MINUTE),
          store.complete(kept, HOUR),
          claim(store, 'kept', 'other'),
          store.release({ key: 'failed', token: 'a' }),
          claim(store, 'failed', 'other'),
          store.complete({ key: 'new', token: 'foreign' }, HOUR),
        ]),
      ).toEqual([
        GRANTED,
        true,
        true,
        { status: 'completed' },
        true,
        { status: 'claimed', attempt: 2 },
        false,
      ])
      expect(counted.committed).toBe(1)
    })

    test.each(['ABORT', 'ROLLBACK', 'FAIL'])(
      'do not fail because a trigger refuses one of them by %s',
      async (how) => {
        const { db, store } = await counting()
        db.exec(
          `CREATE TRIGGER refuse BEFORE INSERT ON tix_webhooks_events WHEN new.event_key = 'bad' BEGIN SELECT RAISE(${how}, 'refused'); END`,
        )
        const claims = ['before', 'bad', 'after'].map((key) => claim(store, key, 'a'))
        expect(await Promise.allSettled(claims)).toMatchObject([
          { value: GRANTED },
          { reason: { code: 'store_unavailable' } },
          { value: GRANTED },
        ])
        expect(await store.complete({ key: 'before', token: 'a' }, HOUR)).toBe(true)
      },
    )

    test('are committed one by one if their common commit fails, and are granted only if that succeeds', async () => {
      const { counted, store } = await counting()
      counted.failures = 2
      const claims = ['a', 'b'].map((key) => claim(store, key, 'a'))
      expect(await Promise.allSettled(claims)).toMatchObject([
        { reason: { code: 'store_unavailable' } },
        { value: GRANTED },
      ])
    })

    test('wait together for the lock of another process, and not one after the other', async () => {
      const { db, counted, store } = await counting()
      await claim(store, 'k', 'a')
      db.exec('PRAGMA busy_timeout = 1')
      const other = open()
      other.exec('BEGIN IMMEDIATE')
      counted.begun = 0
      const settled = await Promise.allSettled(['a', 'b', 'c'].map((key) => claim(store, key, 'a')))
      expect(settled).toMatchObject(Array(3).fill({ reason: { code: 'store_unavailable' } }))
      expect(counted.begun).toBe(1)
      other.exec('ROLLBACK')
      expect(await claim(store, 'a', 'a')).toEqual(GRANTED)
    })
  })
})
