import { sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { expect, test } from 'vitest'
import { orderCreated } from '../../support/deliveries.js'
import { receiving } from '../../support/receiving.js'
import { claim, DAY, HOUR, handle, MINUTE, request, testClock } from '../../support/sqlite-claims.js'
import { onEachDriver } from '../../support/sqlite-drivers.js'
import { rowOf } from '../../support/sqlite-open.js'

const CLAIMED = { status: 'claimed', attempt: 1 }

onEachDriver('the clock', ({ open }) => {
  async function clocked() {
    const db = open()
    const clock = testClock()
    const [store, inbox] = [sqliteStore(db, { now: clock.now }), sqliteInbox(db, { now: clock.now })]
    await store.migrate()
    await inbox.migrate()
    return { db, store, inbox, ...clock }
  }

  test('is a wall clock: records of one process mean the same to another', async () => {
    const before = Date.now()
    const db = open()
    const store = sqliteStore(db)
    await store.migrate()
    await store.claim(request('k', 'a', { leaseMs: HOUR, retainMs: DAY }))
    const after = Date.now()
    const { lease_until: lease, expires_at: expiry } = rowOf(db, 'SELECT * FROM tix_webhooks')
    expect(lease).toBeGreaterThanOrEqual(before + HOUR)
    expect(lease).toBeLessThanOrEqual(after + HOUR)
    expect(expiry).toBeGreaterThanOrEqual(before + DAY)
    expect(expiry).toBeLessThanOrEqual(after + DAY)
  })

  test.each([HOUR, DAY])(
    'that jumps %i ms back lengthens leases by as much, and loses nothing',
    async (ms) => {
      const { store, jump } = await clocked()
      await claim(store, 'running', 'a')
      await handle(store, 'completed')
      jump(-ms)
      expect(await claim(store, 'running', 'b')).toEqual({ status: 'in_flight', retryAfterMs: MINUTE + ms })
      expect(await claim(store, 'completed', 'b')).toEqual({ status: 'completed' })
      expect(await claim(store, 'new', 'b')).toEqual(CLAIMED)
      expect(await store.purge()).toBe(0)
      expect(await store.renew({ key: 'running', token: 'a' }, MINUTE)).toBe(true)
      expect(await claim(store, 'running', 'b')).toEqual({ status: 'in_flight', retryAfterMs: MINUTE })
      expect(await store.complete({ key: 'running', token: 'a' }, DAY)).toBe(true)
    },
  )

  test('may give fractions, and durations may be fractions: a lease is never shorter', async () => {
    const clock = testClock(1_000.25)
    const store = sqliteStore(open(), { now: clock.now })
    await store.migrate()
    await store.claim(request('k', 'a', { leaseMs: 0.5 }))
    clock.jump(0.5)
    expect(await claim(store, 'k', 'b')).toMatchObject({ status: 'in_flight' })
    clock.jump(0.25)
    expect(await claim(store, 'k', 'b')).toEqual({ status: 'claimed', attempt: 2 })
  })

  test.each([Number.NaN, Number.POSITIVE_INFINITY, undefined, '0', new Date(0)])(
    'that gives %s is refused by every method, and nothing is claimed',
    async (value) => {
      const db = open()
      await sqliteStore(db).migrate()
      await sqliteInbox(db).migrate()
      const now = () => value as number
      const [store, inbox] = [sqliteStore(db, { now }), sqliteInbox(db, { now })]
      const lease = { key: 'k', token: 'a' }
      const calls = [
        claim(store, 'k', 'a'),
        store.renew(lease, 1),
        store.complete(lease, 1),
        store.release(lease),
        store.purge(),
        inbox.purge(),
        inbox.once({ key: 'k', retainMs: 1 }, async () => expect.fail('It ran.')),
      ]
      for (const call of calls) {
        const error = await call.catch((reason: unknown) => reason)
        expect(error).toMatchObject({
          code: 'misconfigured',
          message: expect.stringMatching(/^now returned /),
        })
      }
      expect(rowOf(db, 'SELECT count(*) AS rows FROM tix_webhooks')).toEqual({ rows: 0 })
      const { send } = receiving({
        store,
        namespace: 'n',
        on: { 'order.created': () => expect.fail('It ran.') },
      })
      expect(await send(orderCreated())).toMatchObject({ outcome: 'misconfigured' })
    },
  )
})
