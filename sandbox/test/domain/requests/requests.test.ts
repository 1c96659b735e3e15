import { expect, test } from 'vitest'
import type { RefusalCode } from '../../../domain/refusal.js'
import { LIMITS } from '../../../domain/requests/limits.js'
import { venueObject } from '../../../domain/resources.js'
import { lower } from '../../support/lowered.js'
import { apiRefusalOf, START, thrownRefusal, ticketing } from '../../support/ticketing.js'

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

test('[N56] the sandbox is full at its bound of venues, also for an event with a venue', () => {
  lower(LIMITS, { venues: 4 })
  const { account, create } = ticketing()
  account.createVenue({ name: 'Barn' })
  const { code, message } = thrownRefusal(() => account.createVenue({ name: 'Barn' }))
  expect([code, message]).toEqual([
    'sandbox_full',
    'The sandbox keeps 4 venues of an account, and there are as many: reset it, or begin another one.',
  ])
  expect(thrownRefusal(() => create(WITH_VENUE)).code).toBe('sandbox_full')
  expect(account.counts()).toEqual({ events: 0, venues: 4, orders: 0 })
  expect(create().status).toBe('draft')
})

test('[N56] the sandbox is full at its bound of events, and the venue of a refused event is not kept', () => {
  lower(LIMITS, { events: 2 })
  const { account, create } = ticketing()
  for (let count = 0; count < LIMITS.events; count += 1) create()
  for (const given of [{}, WITH_VENUE]) expect(thrownRefusal(() => create(given)).code).toBe('sandbox_full')
  expect(account.counts()).toEqual({ events: 2, venues: 3, orders: 0 })
})

test('[N56] the sandbox is full at its bound of orders', () => {
  lower(LIMITS, { orders: 2 })
  const { account, publish, order } = ticketing()
  const event = publish()
  for (let count = 0; count < LIMITS.orders; count += 1) order(event, 1)
  expect(thrownRefusal(() => order(event, 1)).code).toBe('sandbox_full')
  expect(account.retrieveEvent(event.id).sold).toBe(2)
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
