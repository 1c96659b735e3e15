import type { Outcome } from 'tix-webhooks'
import { afterAll, beforeAll, expect, describe as plainly, test } from 'vitest'
import { type FaultFixture, type Protection, withFixture } from '../support/fault-fixture.js'
import { PROVED } from '../support/our-stores.js'
import type { OpenInbox, OpenStore, Pooled, SqlPlace, StoreAccess } from '../support/proof-clients.js'
import type { Place } from '../support/proof-places.js'
import { SOON } from '../support/retry-after.js'
import { newOrder, newOrders, type Order } from '../support/running-apps.js'

type FaultCase = readonly [name: string, play: (fixture: FaultFixture) => Promise<void>]

/** The event was handled once, and the receiver knows it. */
async function expectHandledOnce(fixture: FaultFixture, order: Order): Promise<void> {
  await fixture.untilDone(order)
  expect(await fixture.effects(order)).toBe(1)
  expect(await fixture.send(order)).toEqual({ outcome: 'duplicate' })
}

const UNAVAILABLE = { outcome: 'unavailable', code: 'store_unavailable', retryAfterSeconds: SOON }

/** Faults that every receiver survives, whether it has a store or an inbox. */
const COMMON_FAULTS: readonly FaultCase[] = [
  ...(['refuse', 'blackHole'] as const).map(
    (how): FaultCase => [
      `a server that ${how === 'refuse' ? 'is down' : 'answers nothing'}: nothing runs, and all is well when it is back`,
      async (fixture) => {
        const orders = [await newOrder(), await newOrder(), await newOrder()]
        await fixture.proxy[how]()
        const ends = await Promise.all(orders.map(fixture.send))
        for (const end of ends) expect(end).toMatchObject(UNAVAILABLE)
        await fixture.proxy.pass()
        for (const order of orders) {
          expect(fixture.calls(order)).toBe(0)
          await expectHandledOnce(fixture, order)
          expect(fixture.calls(order)).toBe(1)
        }
      },
    ],
  ),
  [
    'a lost reply to the claim: it runs once, now or when the sender retries',
    async (fixture) => {
      const order = await newOrder()
      fixture.loseReply(order, 1)
      const first = await fixture.send(order)
      expect(['handled', 'unavailable']).toContain(first.outcome)
      await expectHandledOnce(fixture, order)
      expect(fixture.calls(order)).toBe(1)
    },
  ],
  [
    'a claim that is granted long after the sender was asked to retry: it blocks nothing',
    async (fixture) => {
      const order = await newOrder()
      fixture.proxy.hold()
      expect(await fixture.send(order)).toMatchObject(UNAVAILABLE)
      fixture.proxy.flush()
      await expectHandledOnce(fixture, order)
      expect(fixture.calls(order)).toBe(1)
    },
  ],
  [
    'connections that are cut repeatedly while events arrive',
    async (fixture) => {
      const orders = await Promise.all(Array.from({ length: 20 }, newOrder))
      let cuts = 0
      fixture.beforeEffect(async () => {
        if (cuts++ < 10) fixture.proxy.cut()
      })
      const isAnswered = ({ outcome }: Outcome): boolean => /handled|duplicate|in_flight/.test(outcome)
      await Promise.all(orders.map((order) => fixture.until(order, isAnswered)))
      for (const order of orders) {
        // If the reply to a claim was lost, and its release too, the lease has to expire.
        await fixture.place.expireLease(order)
        await expectHandledOnce(fixture, order)
      }
    },
  ],
]

/** Faults that a receiver with a store survives. */
const STORE_FAULTS: readonly FaultCase[] = [
  ...COMMON_FAULTS,
  [
    'a lost reply to the completion: it is recorded all the same',
    async (fixture) => {
      const order = await newOrder()
      fixture.loseReply(order, 2)
      expect(await fixture.send(order)).toEqual({ outcome: 'handled' })
      expect(await fixture.send(order)).toEqual({ outcome: 'duplicate' })
      expect(fixture.calls(order)).toBe(1)
      expect(fixture.reports).toEqual([])
    },
  ],
  [
    'a lost reply to the release of an event whose handler failed: it runs when the sender retries',
    async (fixture) => {
      const order = await newOrder()
      fixture.loseReply(order, 2)
      fixture.beforeEffect(async () => {
        throw new Error('not today')
      })
      expect(await fixture.send(order)).toMatchObject({ outcome: 'failed' })
      fixture.beforeEffect(async () => {})
      expect(await fixture.send(order)).toEqual({ outcome: 'handled' })
      await expectHandledOnce(fixture, order)
      expect(fixture.calls(order)).toBe(2)
    },
  ],
  [
    'a completion that does not arrive: the sender gets 200 in time, and it is recorded when the server is back',
    async (fixture) => {
      const order = await newOrder()
      fixture.afterEffect(async () => fixture.proxy.blackHole())
      expect(await fixture.send(order)).toEqual({ outcome: 'handled' })
      await fixture.proxy.pass()
      fixture.afterEffect(async () => {})

      // The lease is far longer: only a completion ends it.
      await fixture.until(order, ({ outcome }) => outcome === 'duplicate')
      expect(fixture.calls(order)).toBe(1)
      expect(await fixture.effects(order)).toBe(1)
      await fixture.drain()
      expect(fixture.reports).not.toContain('not_recorded')
    },
  ],
]

/** Faults that a receiver with an inbox survives. */
const INBOX_FAULTS: readonly FaultCase[] = [
  ...COMMON_FAULTS,
  [
    'a lost reply to COMMIT: the sender gets no success, and learns of it by the retry',
    async (fixture) => {
      const order = await newOrder()
      fixture.afterEffect(async () => {
        void fixture.proxy.cutAfterRequest(commitRequest())
      })
      expect(await fixture.send(order)).toMatchObject(UNAVAILABLE)
      fixture.afterEffect(async () => {})
      expect(await fixture.untilDone(order)).toEqual({ outcome: 'duplicate' })
      expect(await fixture.effects(order)).toBe(1)
      expect(fixture.calls(order)).toBe(1)
    },
  ],
  [
    'a COMMIT that never arrives: the sender is asked in time to retry, and all is rolled back',
    async (fixture) => {
      const order = await newOrder()
      fixture.afterEffect(async () => fixture.proxy.blackHole())
      expect(await fixture.send(order)).toMatchObject(UNAVAILABLE)
      fixture.afterEffect(async () => {})
      await fixture.proxy.pass()
      expect(await fixture.untilDone(order)).toEqual({ outcome: 'handled' })
      await expectHandledOnce(fixture, order)
      expect(fixture.calls(order)).toBe(2)
    },
  ],
  [
    'a COMMIT that takes longer than the sender waits',
    async (fixture) => {
      const order = await newOrder()
      fixture.afterEffect(async () => fixture.proxy.hold())
      expect(await fixture.send(order)).toMatchObject(UNAVAILABLE)
      fixture.afterEffect(async () => {})
      fixture.proxy.flush()
      expect(await fixture.untilDone(order)).toEqual({ outcome: 'duplicate' })
      expect(await fixture.effects(order)).toBe(1)
    },
  ],
]

/** Matches COMMIT: pg sends it in one message with the inbox's check, postgres.js in the one after that, and as a named statement. On MySQL it is that which turns autocommit on. */
function commitRequest(): (chunk: Buffer) => boolean {
  let isChecked = false
  return (chunk) => {
    const text = chunk.toString('latin1')
    if (isChecked || /; COMMIT|SET autocommit = 1/.test(text)) return true
    isChecked = text.includes('txid_current_if_assigned')
    return false
  }
}

for (const { entry, describe, proof } of PROVED) {
  const clients = proof.clients.map((client) => ({
    client,
    store: proof.stores[client] as OpenStore,
    inbox: proof.inboxes[client],
  }))
  const withInbox = clients.filter(({ inbox }) => inbox) as {
    client: string
    store: OpenStore
    inbox: OpenInbox
  }[]

  describe(`a receiver on ${entry} survives`, () => {
    let place: Place
    beforeAll(async () => {
      place = await proof.openPlace()
    })
    afterAll(() => place.close())

    plainly.concurrent.each(clients)('with a store on $client', ({ store }) => {
      test.each(STORE_FAULTS)('%s', (_name, play) => withFixture({ place, open: store }, play))
    })

    plainly.concurrent.each(withInbox)('with an inbox on $client', ({ inbox: open }) => {
      test.each(INBOX_FAULTS)('%s', (_name, play) => withFixture({ place, open }, play))

      test('a connection that is lost and back before the handler writes: what it writes then is not kept by itself', () =>
        withFixture({ place, open: (at) => open({ ...at, connections: 1 }) }, async (fixture) => {
          const [order, other] = await Promise.all([newOrder(), newOrder()])
          fixture.beforeEffect(async () => {
            fixture.beforeEffect(async () => {})
            const next = fixture.send(other)
            fixture.proxy.cut()
            await next
          })
          expect(['failed', 'timed_out', 'unavailable']).toContain((await fixture.send(order)).outcome)
          await fixture.untilDone(order)
          expect(await fixture.effects(order)).toBe(1)
        }))
    })

    plainly.concurrent.each(withInbox)('that other code uses up the pool of $client,', ({ store, inbox }) => {
      const opens: readonly [what: string, open: (at: SqlPlace) => Promise<Protection & Pooled>][] = [
        ['a store', store as (at: SqlPlace) => Promise<StoreAccess>],
        ['an inbox', inbox],
      ]
      test.each(opens)('with %s', async (_what, open) => {
        let pool: Pooled | undefined
        const opening = async (at: SqlPlace) => {
          const opened = await open({ ...at, connections: 1 })
          pool = opened
          return opened
        }
        await withFixture({ place, open: opening }, async (fixture) => {
          const orders = await newOrders(3)
          const free = await pool?.occupy()
          const ends = await Promise.all(orders.map(fixture.send))
          for (const end of ends) expect(end.outcome).toMatch(/^(unavailable|overloaded)$/)
          await free?.()
          for (const order of orders) {
            expect(await fixture.untilDone(order)).toEqual({ outcome: 'handled' })
            expect(fixture.calls(order)).toBe(1)
          }
        })
      })
    })
  })
}
