import { expect, test } from 'vitest'
import type { RefusalCode } from '../../../domain/refusal.js'
import { venueObject } from '../../../domain/resources.js'
import { apiRefusalOf, START, ticketing } from '../../support/ticketing.js'

test('[S36] [S59] [S35] [N41] a venue that is sent with an event is created, and listed', () => {
  const { account, create } = ticketing()
  const venue = { name: ' Barn ', timezone: 'America/New_York', capacity: 80 }
  const { venue_id } = create({ venue_id: undefined, venue })
  const { data } = account.listVenues({ limit: '1' })
  expect(data).toEqual([
    {
      id: venue_id,
      name: 'Barn',
      address: null,
      city: null,
      country: null,
      timezone: 'America/New_York',
      capacity: 80,
      created_at: START,
    },
  ])
  expect(venueObject.parse(data[0])).toEqual(data[0])
})

test.each<[string, unknown, RefusalCode, string]>([
  ['no name', {}, 'parameter_missing', 'name'],
  ['a name of blanks', { name: '  ' }, 'parameter_invalid', 'name'],
  ['a name of 201 characters', { name: 'a'.repeat(201) }, 'parameter_invalid', 'name'],
  ['an address that is null', { name: 'Barn', address: null }, 'parameter_invalid', 'address'],
  ['a city that is empty', { name: 'Barn', city: '' }, 'parameter_invalid', 'city'],
  ['a country that is a number', { name: 'Barn', country: 49 }, 'parameter_invalid', 'country'],
  ['no capacity', { name: 'Barn', capacity: 0 }, 'parameter_invalid', 'capacity'],
  ['half a capacity', { name: 'Barn', capacity: 1.5 }, 'parameter_invalid', 'capacity'],
  ['a capacity over the bound', { name: 'Barn', capacity: 10_000_001 }, 'parameter_invalid', 'capacity'],
  ['an offset', { name: 'Barn', timezone: '+01:00' }, 'parameter_invalid', 'timezone'],
  [
    'a time zone that there is not',
    { name: 'Barn', timezone: 'Europe/Nowhere' },
    'parameter_invalid',
    'timezone',
  ],
  ['no time zone', { name: 'Barn', timezone: '' }, 'parameter_invalid', 'timezone'],
  ['an id', { name: 'Barn', id: 'ven_1' }, 'parameter_unknown', 'id'],
  ['a member that there is not', { name: 'Barn', seats: 3 }, 'parameter_unknown', 'seats'],
])(
  '[N41] a venue is refused with %s, alone and with an event, which is not created either',
  (_, venue, code, param) => {
    const { account, create } = ticketing()
    expect(apiRefusalOf(() => account.createVenue(venue))).toEqual([code, param])
    expect(apiRefusalOf(() => create({ venue_id: undefined, venue }))).toEqual([code, `venue.${param}`])
    expect(account.counts()).toEqual({ events: 0, venues: 3, orders: 0 })
  },
)

test.each(['UTC', 'Europe/Lisbon', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5'])(
  '[N41] %s is a time zone',
  (timezone) => {
    expect(ticketing().account.createVenue({ name: 'Barn', timezone }).timezone).toBe(timezone)
  },
)
