import { afterAll, beforeAll, expect, describe as plainly, test, vi } from 'vitest'
import { INBOX_FAULTS, STORE_FAULTS } from '../support/fault-cases.js'
import { type Protection, withFixture } from '../support/fault-fixture.js'
import { PROVED } from '../support/our-stores.js'
import type { OpenInbox, OpenStore, Pooled, SqlPlace, StoreAccess } from '../support/proof-clients.js'
import type { Place } from '../support/proof-places.js'
import { newOrder, newOrders } from '../support/running-apps.js'

// A loaded machine is many times slower than an idle one.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 })

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
