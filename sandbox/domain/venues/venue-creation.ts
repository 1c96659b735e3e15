import type { Random } from '../../lib/random.js'
import type { VenueObject } from '../resources.js'
import type { CreateVenue } from './venue-requests.js'

/** Three of them are in every account from the beginning, so that the list of venues is never empty. */
export const SEEDED_VENUES: readonly CreateVenue[] = [
  {
    name: 'Harbour Hall',
    address: '1 Quay Street',
    city: 'Lisbon',
    country: 'Portugal',
    timezone: 'Europe/Lisbon',
    capacity: 1200,
  },
  {
    name: 'The Old Cinema',
    address: '20 Market Square',
    city: 'Berlin',
    country: 'Germany',
    timezone: 'Europe/Berlin',
    capacity: 350,
  },
  {
    name: 'Riverside Yard',
    address: '300 River Road',
    city: 'New York',
    country: 'United States',
    timezone: 'America/New_York',
    capacity: 800,
  },
]

/** A new venue: what was not given is null. */
export function makeVenue(given: CreateVenue, random: Random, now: string): VenueObject {
  return {
    id: random.id('ven_'),
    name: given.name,
    address: given.address ?? null,
    city: given.city ?? null,
    country: given.country ?? null,
    timezone: given.timezone,
    capacity: given.capacity ?? null,
    created_at: now,
  }
}
