import { expect, test } from 'vitest'
import { LIMITS } from '../../../domain/requests/limits.js'
import { lower } from '../../support/lowered.js'
import { thrownRefusal, ticketing } from '../../support/ticketing.js'

interface Snapshot {
  events: Record<string, unknown>[]
  venues: Record<string, unknown>[]
}

const WITH_VENUE = { venue_id: undefined, venue: { name: 'Barn' } }

/** Ids of the same form, each another one. */
const idOf = (prefix: string, index: number): string => `${prefix}_${String(index).padStart(20, '0')}`

test('[N56] the bounds are these', () => {
  const many = { events: 100_000, orders: 1_000_000, venues: 10_000 }
  expect(LIMITS).toMatchObject({ ...many, tiers: 100, orderQuantity: 1000 })
})

test('[N56] the sandbox is full at its bound of venues, also for an event with a venue', () => {
  lower(LIMITS, { venues: 20 })
  const { account, create } = ticketing()
  for (let count = 3; count < LIMITS.venues; count += 1) account.createVenue({ name: 'Barn' })
  const { code, message } = thrownRefusal(() => account.createVenue({ name: 'Barn' }))
  expect([code, message]).toEqual([
    'sandbox_full',
    'The sandbox keeps 20 venues of an account, and there are as many: reset it, or begin another one.',
  ])
  expect(thrownRefusal(() => create(WITH_VENUE)).code).toBe('sandbox_full')
  expect(account.counts()).toEqual({ events: 0, venues: 20, orders: 0 })
  expect(create().status).toBe('draft')
})

test('[N56] the sandbox is full at its bound of events, and the venue of a refused event is not kept', {
  tags: ['slow'],
}, () => {
  lower(LIMITS, { events: 20_000 })
  const { account, create } = ticketing()
  create()
  const snapshot = account.snapshot() as Snapshot
  const events = Array.from({ length: LIMITS.events }, (_, index) => ({
    ...snapshot.events[0],
    id: idOf('evt', index),
    slug: `night-${index}`,
  }))
  account.restore({ ...snapshot, events })
  expect(thrownRefusal(() => create()).code).toBe('sandbox_full')
  expect(thrownRefusal(() => create(WITH_VENUE)).code).toBe('sandbox_full')
  expect(account.counts()).toEqual({ events: 20_000, venues: 3, orders: 0 })
})

test('[N56] the sandbox is full at its bound of orders', () => {
  lower(LIMITS, { orders: 1000 })
  const { account, publish, order } = ticketing()
  const event = publish({ tickets: [{ name: 'GA', price_cents: 1, quantity: 10_000_000 }] })
  const tier = event.tickets[0]?.id
  const snapshot = account.snapshot() as Snapshot
  const orderAt = (_: unknown, index: number) => [idOf('ord', index), tier, 1, 1, index + 1, false]
  const orders = Array.from({ length: LIMITS.orders }, orderAt)
  account.restore({ ...snapshot, events: [{ ...snapshot.events[0], orders }] })
  expect(thrownRefusal(() => order(event, 1)).code).toBe('sandbox_full')
  expect(account.retrieveEvent(event.id)).toMatchObject({ sold: 1000, gross_cents: 1000 })
})

test('[N56] [S18] an event takes no more than can be counted exactly', () => {
  const { account, publish, order } = ticketing()
  const event = publish({ tickets: [{ name: 'GA', price_cents: 99_999_999, quantity: 10_000_000 }] })
  const tier = event.tickets[0]?.id
  const snapshot = account.snapshot() as Snapshot
  const almost = Number.MAX_SAFE_INTEGER - 99_999_999
  account.restore({
    ...snapshot,
    events: [{ ...snapshot.events[0], orders: [[idOf('ord', 1), tier, 1, almost, 1, false]] }],
  })
  order(event, 1)
  expect(account.retrieveEvent(event.id).gross_cents).toBe(Number.MAX_SAFE_INTEGER)
  const { code, message } = thrownRefusal(() => order(event, 1))
  expect([code, message]).toEqual(['sandbox_full', expect.stringContaining('cannot be counted exactly')])
})
