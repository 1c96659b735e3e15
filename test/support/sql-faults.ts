import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { INBOX_FAULTS, STORE_FAULTS } from './fault-cases.js'
import { type Protection, withFixture } from './fault-fixture.js'
import type { Place } from './proof-places.js'
import type { InboxAccess, Pooled, SqlPlace, StoreAccess } from './proof-postgres.js'
import { newOrder, newOrders } from './running-apps.js'

export interface SqlServer {
  openPlace(): Promise<Place>
  readonly stores: Readonly<Record<string, (at: SqlPlace) => Promise<StoreAccess>>>
  readonly inboxes: Readonly<Record<string, (at: SqlPlace) => Promise<InboxAccess>>>
}

/** Tests that a receiver survives the faults of a SQL server, with its store and its inbox over each client. For the body of a `describe`. */
export function testFaults({ openPlace, stores, inboxes }: SqlServer): void {
  // A loaded machine is many times slower than an idle one.
  vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 })

  let place: Place
  beforeAll(async () => {
    place = await openPlace()
  })
  afterAll(() => place.close())

  describe.concurrent.each(Object.entries(stores))('with a store on %s', (_client, open) => {
    test.each(STORE_FAULTS)('%s', (_name, play) => withFixture({ place, open }, play))
  })

  describe.concurrent.each(Object.entries(inboxes))('with an inbox on %s', (_client, open) => {
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

  describe.concurrent.each(Object.keys(stores))('that other code uses up the pool of %s,', (client) => {
    const opens: readonly [what: string, open: (at: SqlPlace) => Promise<Protection & Pooled>][] = [
      ['a store', stores[client] as SqlServer['stores'][string]],
      ['an inbox', inboxes[client] as SqlServer['inboxes'][string]],
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
}
