import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { INBOX_FAULTS, STORE_FAULTS } from '../support/fault-cases.js'
import { type Protection, withFixture } from '../support/fault-fixture.js'
import { onPostgres, postgresUrl } from '../support/on-servers.js'
import { type Place, postgresPlace } from '../support/proof-places.js'
import {
  INBOXES,
  POSTGRES,
  type Pooled,
  type PostgresClientName,
  type PostgresPlace,
} from '../support/proof-postgres.js'
import { newOrder, newOrders } from '../support/running-apps.js'

// A loaded machine is many times slower than an idle one.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 })

const CLIENTS = Object.keys(POSTGRES) as PostgresClientName[]

onPostgres('a receiver on Postgres survives', () => {
  let place: Place
  beforeAll(async () => {
    place = await postgresPlace(postgresUrl())
  })
  afterAll(() => place.close())

  describe.concurrent.each(CLIENTS)('with a store on %s', (client) => {
    test.each(STORE_FAULTS)('%s', (_name, play) => withFixture({ place, open: POSTGRES[client] }, play))
  })

  describe.concurrent.each(CLIENTS)('with an inbox on %s', (client) => {
    test.each(INBOX_FAULTS)('%s', (_name, play) => withFixture({ place, open: INBOXES[client] }, play))

    test('a connection that is lost and back before the handler writes: what it writes then is not kept by itself', () =>
      withFixture({ place, open: (at) => INBOXES[client]({ ...at, connections: 1 }) }, async (fixture) => {
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

  describe.concurrent.each(CLIENTS)('that other code uses up the pool of %s,', (client) => {
    const opens: readonly [what: string, open: (at: PostgresPlace) => Promise<Protection & Pooled>][] = [
      ['a store', POSTGRES[client]],
      ['an inbox', (at) => INBOXES[client](at)],
    ]
    test.each(opens)('with %s', async (_what, open) => {
      let pool: Pooled | undefined
      const opening = async (at: PostgresPlace) => {
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
