import { Collection } from '../collection.js'
import { Fault } from '../fault.js'
import type { EventRecord, VenueRecord } from '../records.js'
import { LIMITS } from '../requests/limits.js'
import type { VenueObject } from '../resources.js'

/** All that an account keeps. */
export class Ledger {
  readonly events = new Collection<EventRecord>('event')
  readonly venues = new Collection<VenueRecord>('venue')
  /** Events by the part of their public URL. */
  readonly bySlug = new Map<string, EventRecord>()
  /** How many orders there have been: the number of the latest. */
  orders = 0

  addEvent(event: EventRecord): void {
    this.events.add(event)
    this.bySlug.set(event.slug, event)
  }

  addVenue(venue: VenueObject): void {
    this.venues.add({ id: venue.id, index: this.venues.size, venue })
  }

  /** @throws Fault `sandbox_full` where there is no room for one more of each */
  makeRoom(...kinds: ('events' | 'venues' | 'orders')[]): void {
    for (const kind of kinds) {
      const count = kind === 'orders' ? this.orders : this[kind].size
      if (count < LIMITS[kind]) continue
      throw new Fault({
        code: 'sandbox_full',
        message: `The sandbox keeps ${LIMITS[kind]} ${kind} of an account, and there are as many: reset it, or begin another one.`,
      })
    }
  }
}
