import { expect, test } from 'vitest'
import type { RefusalCode } from '../../../domain/refusal.js'
import { venueObject } from '../../../domain/resources.js'
import { apiRefusalOf, START, ticketing } from '../../support/ticketing.js'

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
  ['address', 'parameter_invalid', [null]],
  ['city', 'parameter_invalid', ['']],
  ['country', 'parameter_invalid', [49]],
  ['capacity', 'parameter_invalid', [0, 1.5, 10_000_001]],
  ['timezone', 'parameter_invalid', ['+01:00', 'Europe/Nowhere', '']],
  ['id', 'parameter_unknown', ['ven_1']],
  ['seats', 'parameter_unknown', [3]],
])('[N41] a venue is refused for its %s, alone and with an event: %s, %j', (param, code, values) => {
  const { account, create } = ticketing()
  for (const value of values) {
    const venue = { name: 'Barn', [param]: value }
    expect(apiRefusalOf(() => account.createVenue(venue))).toEqual([code, param])
    expect(apiRefusalOf(() => create({ venue_id: undefined, venue }))).toEqual([code, `venue.${param}`])
  }
  expect(account.counts()).toEqual({ events: 0, venues: 3, orders: 0 })
})

test.each(['UTC', 'Europe/Lisbon', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5'])(
  '[N41] %s is a time zone',
  (timezone) => {
    expect(ticketing().account.createVenue({ name: 'Barn', timezone }).timezone).toBe(timezone)
  },
)
