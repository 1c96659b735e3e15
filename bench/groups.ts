import { million } from './stores/million.js'
import { purging } from './stores/purging.js'
import { stores } from './stores/rate.js'
import { roundTrips } from './stores/round-trips.js'
import type { Group } from './support/bench.js'

/** What `npm run bench` measures, in this order. */
export const groups: readonly Group[] = [roundTrips, stores, million, purging]
