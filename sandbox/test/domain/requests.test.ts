import { describe, expect, test } from 'vitest'
import type { RefusalCode } from '../../domain/refusal.js'
import { LIMITS } from '../../domain/requests/limits.js'
import { orderResult, venueObject } from '../../domain/resources.js'
import { lower } from '../support/lowered.js'
import {
  apiRefusalOf,
  PUBLIC_URL,
  START,
  type Ticketing,
  thrownRefusal,
  ticketing,
  tierId,
} from '../support/ticketing.js'

test('[S36] [S59] [S35] [N41] a venue that is sent with an event is created, and listed', () => {
  const { account, create } = ticketing()
  const venue = { name: ' Barn ', timezone: 'America/New_York', capacity: 80 }
  const { venue_id } = create({ venue_id: undefined, venue })
  const { data } = account.listVenues({ limit: '1' })
  const place = { address: null, city: null, country: null, timezone: 'America/New_York' }
  expect(data).toEqual([{ id: venue_id, name: 'Barn', ...place, capacity: 80, created_at: START }])
  expect(venueObject.parse(data[0])).toEqual(data[0])
})

test.each<[string, RefusalCode, unknown[]]>([
  ['name', 'parameter_missing', [undefined]],
  ['name', 'parameter_invalid', ['  ', 'a'.repeat(201)]],
  ['city', 'parameter_invalid', ['', null, 49]],
  ['capacity', 'parameter_invalid', [0, 1.5, 10_000_001]],
  ['timezone', 'parameter_invalid', ['+01:00', 'Europe/Nowhere', '']],
  ['id', 'parameter_unknown', ['ven_1']],
])('[N41] a venue is refused for its %s, alone and with an event: %s, %j', (param, code, values) => {
  const { account, create } = ticketing()
  for (const value of values) {
    const venue = { name: 'Barn', [param]: value }
    expect(apiRefusalOf(() => account.createVenue(venue))).toEqual([code, param])
    expect(apiRefusalOf(() => create({ venue_id: undefined, venue }))).toEqual([code, `venue.${param}`])
  }
  expect(account.counts()).toEqual({ events: 0, venues: 3, orders: 0 })
})

test.each(['UTC', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5'])('[N41] %s is a time zone', (timezone) => {
  expect(ticketing().account.createVenue({ name: 'Barn', timezone }).timezone).toBe(timezone)
})

test('[N27] a lenient account accepts unknown fields in every body and query, and leaves them out', () => {
  const lenient = ticketing({ lenient: true })
  const { account, order } = lenient
  const tickets = [{ name: 'GA', price_cents: 1, quantity: 1, size: 3 }]
  const given = lenient.body({ colour: 'red', status: 'on_sale', tickets })
  const copy = structuredClone(given)
  const event = account.createEvent(given)
  expect(event).toMatchObject({ status: 'draft', capacity: 1 })
  expect(JSON.stringify(event)).not.toMatch(/colour|size/)
  expect(given).toEqual(copy)
  lenient.create({ venue_id: undefined, venue: { name: 'Yard', wheelchair: true } })
  expect(account.updateEvent(event.id, { sold: 3 })).toMatchObject({ sold: 0 })
  expect(account.publishEvent(event.id, { now: true }).status).toBe('on_sale')
  const doors_at = '2026-09-01T19:00Z'
  expect(account.rescheduleEvent(event.id, { doors_at, why: 'rain' }).doors_at).toBe(doors_at)
  expect(order(event, 1).tickets).toHaveLength(1)
  expect(account.listEvents({ sort: 'title', limit: '1' }).data).toHaveLength(1)
  expect(account.listVenues({ q: ['a', 'b'] }).data.length).toBeGreaterThan(2)
  expect(account.createVenue({ name: 'Barn', doors: 2 })).not.toHaveProperty('doors')
  expect(account.cancelEvent(event.id, { reason: 'rain' }).status).toBe('cancelled')
  const refusal = apiRefusalOf(() => lenient.create({ colour: 1, title: 7, tickets: [{ size: 1 }] }))
  expect(refusal).toEqual(['parameter_invalid', 'title'])
})

const WITH_VENUE = { venue_id: undefined, venue: { name: 'Barn' } }

test.each<['venues' | 'events' | 'orders', bound: number, add: (service: Ticketing) => unknown]>([
  ['venues', 4, ({ account }) => account.createVenue({ name: 'Barn' })],
  ['events', 2, ({ create }) => create()],
  ['orders', 2, ({ order, publish }) => order(publish(), 1)],
])('[N56] the sandbox is full at its bound of %s', (what, bound, add) => {
  lower(LIMITS, { [what]: bound })
  const service = ticketing()
  const { account } = service
  while (account.counts()[what] < bound) add(service)
  const { code, message } = thrownRefusal(() => add(service))
  expect([code, message]).toEqual([
    'sandbox_full',
    `The sandbox keeps ${bound} ${what} of an account, and there are as many: reset it, or begin another one.`,
  ])
  expect(account.counts()[what]).toBe(bound)
})

test('[N56] an event with a venue needs room for both, and the venue of a refused event is not kept', () => {
  expect(LIMITS).toMatchObject({ events: 100_000, orders: 1_000_000, venues: 10_000 })
  lower(LIMITS, { events: 2, venues: 4 })
  const { account, create } = ticketing()
  create(WITH_VENUE)
  expect(thrownRefusal(() => create(WITH_VENUE)).code).toBe('sandbox_full')
  expect(account.counts()).toMatchObject({ events: 1, venues: 4 })
  lower(LIMITS, { events: 1, venues: 5 })
  expect(thrownRefusal(() => create(WITH_VENUE)).code).toBe('sandbox_full')
  expect(account.counts()).toMatchObject({ events: 1, venues: 4 })
})

test('[N56] [N81] [S18] an order has up to 1000 tickets, and an event takes no more than can be counted exactly', () => {
  const { account, publish, order } = ticketing()
  const event = publish({ tickets: [{ name: 'GA', price_cents: 99_999_999, quantity: 10_000_000 }] })
  const snapshot = account.snapshot() as { events: object[] }
  const almost = Number.MAX_SAFE_INTEGER - 1000 * 99_999_999
  const orders = [[`ord_${'0'.repeat(20)}`, event.tickets[0]?.id, 1, almost, 1, false]]
  account.restore({ ...snapshot, events: [{ ...snapshot.events[0], orders }] })
  const { tickets } = order(event, 1000)
  expect(new Set(tickets.map(({ id }) => id)).size).toBe(1000)
  expect(account.retrieveEvent(event.id).gross_cents).toBe(Number.MAX_SAFE_INTEGER)
  const { code, message } = thrownRefusal(() => order(event, 1))
  expect([code, message]).toEqual(['sandbox_full', expect.stringContaining('cannot be counted exactly')])
})

interface Snapshot {
  events: { orders: [string, string, number, number, number, boolean][] }[]
}

describe('an order', () => {
  test('[S3] [S79] [S92] [N55] [N96] [S28] [S29] [S30] [S31] [S32] [S33] [S34] [S57] [N53] [N54] has a ticket per unit, each with its token and its pass, which are not sent', () => {
    const { publish, order, emitted } = ticketing()
    const event = publish()
    emitted.length = 0
    const result = order(event, 2, 1)
    const ticket = {
      id: expect.stringMatching(/^tik_[0-9A-Za-z]{20}$/),
      tier: 'Balcony',
      scan_token: expect.stringMatching(/^[0-9A-Za-z]{24}$/),
      wallet_pass_url: expect.stringContaining(`${PUBLIC_URL}/`),
    }
    expect(result).toEqual({
      order: {
        id: expect.stringMatching(/^ord_[0-9A-Za-z]{20}$/),
        event_id: event.id,
        total_cents: 8000,
        buyer_email: 'buyer1@example.com',
      },
      tickets: [ticket, ticket],
    })
    expect(new Set(result.tickets.flatMap((one) => Object.values(one))).size).toBe(1 + 6)
    expect(orderResult.parse(result)).toEqual(result)
    const { event_id: _, ...sold } = result.order
    const data = { order: sold, tickets: result.tickets.map(({ id, tier }) => ({ id, tier })) }
    expect(emitted).toEqual([{ kind: 'order.created', data }])
  })

  test('[S41] [S54] [N76] is refunded if the event is cancelled, whatever its refund policy', () => {
    for (const refund_policy of ['anytime', 'final', 'exchange_only']) {
      const { account, publish, order } = ticketing()
      const [event, other] = [publish({ refund_policy }), publish()]
      for (const one of [event, other, event]) order(one, 1)
      account.cancelEvent(event.id)
      const { events } = account.snapshot() as Snapshot
      expect(events.map(({ orders }) => orders.map(([, , , , , refunded]) => refunded))).toEqual([
        [true, true],
        [false],
      ])
      expect(account.counts().orders).toBe(3)
    }
  })
})

describe('an order is refused, and nothing changes,', () => {
  const { account, publish, emitted } = ticketing()
  const event = publish()
  const other = publish()
  emitted.length = 0
  const good = { event_id: event.id, ticket_tier_id: tierId(event), quantity: 1 }

  test.each<[string, string, RefusalCode, unknown[]]>([
    ['[S78] without its event', 'event_id', 'parameter_missing', [undefined]],
    ['[S78] without its tier', 'ticket_tier_id', 'parameter_missing', [undefined]],
    ['[S78] without a quantity', 'quantity', 'parameter_missing', [undefined]],
    ['[S78] [N81] [N56] with an invalid quantity', 'quantity', 'parameter_invalid', [0, -1, 0.5, '1', 1001]],
    ['[N16] of an unknown event', 'event_id', 'resource_missing', ['evt_none']],
    ['[S27] [N16] of no tier of it', 'ticket_tier_id', 'resource_missing', ['tkt_none', tierId(other)]],
    ['[N89] of more than are left', 'quantity', 'tier_sold_out', [4]],
    ['[N13] with an unknown field', 'buyer_email', 'parameter_unknown', ['me@example.com']],
  ])('%s', (_, param, code, values) => {
    const before = [account.snapshot(), account.counts()]
    for (const value of values) {
      const order = () => account.createOrder({ ...good, [param]: value })
      expect(apiRefusalOf(order)).toEqual([code, param])
    }
    expect([account.snapshot(), account.counts()]).toEqual(before)
    expect(emitted).toEqual([])
  })
})
