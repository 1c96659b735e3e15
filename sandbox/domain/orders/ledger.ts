import type { Ticket } from '../api-objects.js'
import { Collection } from '../collection.js'
import type { EventRecord, VenueRecord } from '../records.js'
import { Refusal } from '../refusal.js'
import { LIMITS } from '../requests/limits.js'
import type { VenueObject } from '../resources.js'

/** The number of orders whose tickets are kept. There may be very many orders, and the tickets of old ones are rarely read. */
const KEPT_TICKETS = 1000

/** The records of an account. */
export class Ledger {
  readonly events = new Collection<EventRecord>('event')
  readonly venues = new Collection<VenueRecord>('venue')
  /** Events by the part of their public URL. */
  readonly bySlug = new Map<string, EventRecord>()
  /** How many orders there have been: the number of the latest. */
  orders = 0
  /** The tickets of the latest orders, by order id. */
  readonly tickets = new Map<string, readonly Ticket[]>()

  addEvent(event: EventRecord): void {
    this.events.add(event)
    this.bySlug.set(event.slug, event)
  }

  addVenue(venue: VenueObject): void {
    this.venues.add({ id: venue.id, index: this.venues.size, venue })
  }

  keepTickets(orderId: string, tickets: readonly Ticket[]): void {
    this.tickets.set(orderId, tickets)
    const [oldest] = this.tickets.keys()
    if (this.tickets.size > KEPT_TICKETS && oldest !== undefined) this.tickets.delete(oldest)
  }

  /** @throws Refusal `sandbox_full` if there is no room for one more of each */
  makeRoom(...kinds: ('events' | 'venues' | 'orders')[]): void {
    for (const kind of kinds) {
      const count = kind === 'orders' ? this.orders : this[kind].size
      if (count < LIMITS[kind]) continue
      throw new Refusal({
        code: 'sandbox_full',
        message: `The sandbox keeps ${LIMITS[kind]} ${kind} of an account, and there are as many: reset it, or begin another one.`,
      })
    }
  }
}
