import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { INBOX_FAULTS, STORE_FAULTS } from '../support/fault-cases.js'
import { onStage, type Protection } from '../support/fault-stage.js'
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
    test.each(STORE_FAULTS)('%s', (_name, play) => onStage({ place, open: POSTGRES[client] }, play))
  })

  describe.concurrent.each(CLIENTS)('with an inbox on %s', (client) => {
    test.each(INBOX_FAULTS)('%s', (_name, play) => onStage({ place, open: INBOXES[client] }, play))

    test('a connection that is lost and back before the handler writes: what it writes then is not kept by itself', () =>
      onStage({ place, open: (at) => INBOXES[client]({ ...at, connections: 1 }) }, async (stage) => {
        const [order, other] = await Promise.all([newOrder(), newOrder()])
        stage.beforeEffect(async () => {
          stage.beforeEffect(async () => {})
          const next = stage.send(other)
          stage.proxy.cut()
          await next
        })
        expect(['failed', 'timed-out', 'unavailable']).toContain((await stage.send(order)).outcome)
        await stage.untilDone(order)
        expect(await stage.effects(order)).toBe(1)
      }))
  })

  describe.concurrent.each(CLIENTS)('that somebody else uses up the pool of %s,', (client) => {
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
      await onStage({ place, open: opening }, async (stage) => {
        const orders = await newOrders(3)
        const free = await pool?.occupy()
        const ends = await Promise.all(orders.map(stage.send))
        for (const end of ends) expect(end).toMatchObject({ outcome: 'unavailable' })
        await free?.()
        for (const order of orders) {
          expect(await stage.untilDone(order)).toEqual({ outcome: 'handled' })
          expect(stage.calls(order)).toBe(1)
        }
      })
    })
  })
})
