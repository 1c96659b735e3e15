import type { Random } from '../lib/random.js'
import type { VirtualClock } from '../time/clock.js'
import { orderCreatedData, presentEvent, presentWithTickets } from './api-objects.js'
import type { Page } from './collection.js'
import { rescheduledDates } from './events/dates.js'
import { applyChanges, checkChanges } from './events/event-changes.js'
import { checkCreation, makeEvent } from './events/event-creation.js'
import { eventFilter } from './events/event-filter.js'
import {
  createEventBody,
  emptyBody,
  rescheduleEventBody,
  SET_BY_SERVICE,
  updateEventBody,
} from './events/event-requests.js'
import { type Emit, Lifecycle } from './events/lifecycle.js'
import { utcText } from './events/moments.js'
import { nextStatus } from './events/states.js'
import { type FoundTicket, findTicket } from './orders/found-ticket.js'
import { type LatestOrders, latestOrders, type OrderFilter } from './orders/latest-orders.js'
import { Ledger } from './orders/ledger.js'
import { makeOrder } from './orders/order-creation.js'
import { createOrderBody } from './orders/order-requests.js'
import type { EventRecord } from './records.js'
import { type Problem, Refusal } from './refusal.js'
import { listEventsQuery, listVenuesQuery } from './requests/list-queries.js'
import { missingResource } from './requests/missing.js'
import { type ValidateOptions, validateBody, validateQuery } from './requests/validate.js'
import type { CreatedEvent, EventObject, OrderResult, VenueObject } from './resources.js'
import { readSnapshot, takeSnapshot } from './snapshot.js'
import { makeVenue, SEEDED_VENUES } from './venues/venue-creation.js'
import { type CreateVenue, createVenueBody } from './venues/venue-requests.js'

export interface AccountParts {
  readonly clock: VirtualClock
  readonly random: Random
  /** Whether unknown parameters are ignored. Default false: they are refused. */
  readonly lenient?: boolean
  /** The base URL of the public pages, such as `http://127.0.0.1:4010`. */
  readonly publicUrl: () => string
  /** Sends the webhook: called once for each accepted transition or sale, never for a refused one. */
  readonly emit: Emit
  /** Called after each change of the account, to save or show it. */
  readonly onChange?: () => void
}

/**
 * The data of one account, and every rule about it. Bodies and queries are validated here.
 * A refused operation throws a `Refusal` and changes nothing.
 */
export class Account {
  readonly #clock: VirtualClock
  readonly #random: Random
  readonly #publicUrl: () => string
  readonly #emit: Emit
  readonly #onChange: () => void
  readonly #lifecycle: Lifecycle
  readonly #options: ValidateOptions
  readonly #eventOptions: ValidateOptions
  #ledger = new Ledger()

  constructor({ clock, random, lenient = false, publicUrl, emit, onChange = () => {} }: AccountParts) {
    this.#clock = clock
    this.#random = random
    this.#publicUrl = publicUrl
    this.#emit = emit
    this.#onChange = onChange
    this.#lifecycle = new Lifecycle({ clock, publicUrl, emit, onChange })
    this.#options = { lenient }
    this.#eventOptions = { lenient, advice: SET_BY_SERVICE }
    for (const venue of SEEDED_VENUES) this.#ledger.addVenue(this.#makeVenue(venue))
  }

  createEvent(body: unknown): CreatedEvent {
    const given = validateBody(createEventBody, body, this.#eventOptions)
    const dates = checkCreation(given, this.#problemOfVenue)
    this.#ledger.makeRoom('events', ...(given.venue === undefined ? [] : (['venues'] as const)))
    const venue = given.venue && this.#makeVenue(given.venue)
    const event = makeEvent(given, dates, venue?.id ?? String(given.venue_id), {
      index: this.#ledger.events.size,
      now: this.#now(),
      random: this.#random,
      isSlugTaken: (slug) => this.#ledger.bySlug.has(slug),
    })
    if (venue !== undefined) this.#ledger.addVenue(venue)
    this.#ledger.addEvent(event)
    this.#lifecycle.arm(event)
    this.#onChange()
    return presentWithTickets(event, this.#publicUrl)
  }

  /** @param query names to what stands in the query: a string, or a list where it is repeated */
  listEvents(query: unknown): Page<EventObject> {
    const given = validateQuery(listEventsQuery, query, this.#options)
    const unknownVenue = given.venue_id === undefined ? undefined : this.#problemOfVenue(given.venue_id)
    if (unknownVenue !== undefined) throw new Refusal(unknownVenue)
    const isListed = eventFilter(given)
    const { data, hasMore } = this.#ledger.events.page(given, (event) => {
      this.#lifecycle.settle(event)
      return isListed(event)
    })
    return { data: data.map((event) => presentEvent(event, this.#publicUrl)), hasMore }
  }

  retrieveEvent(id: string): EventObject {
    return presentEvent(this.#find(id), this.#publicUrl)
  }

  /** The event with its tiers, as `createEvent` shows it. */
  retrieveWithTickets(id: string): CreatedEvent {
    return presentWithTickets(this.#find(id), this.#publicUrl)
  }

  updateEvent(id: string, body: unknown): EventObject {
    const event = this.#find(id)
    const given = validateBody(updateEventBody, body, this.#eventOptions)
    const dates = checkChanges(event, given, this.#problemOfVenue)
    if (Object.values(given).some((value) => value !== undefined)) {
      applyChanges(event, given, dates, () => this.#random.id('tkt_'))
      this.#lifecycle.updated(event)
    }
    return presentEvent(event, this.#publicUrl)
  }

  /** @param body none, or `{}` */
  publishEvent(id: string, body?: unknown): EventObject {
    const event = this.#find(id)
    this.#checkEmpty(body)
    this.#lifecycle.publish(event)
    return presentEvent(event, this.#publicUrl)
  }

  /** @param body none, or `{}` */
  cancelEvent(id: string, body?: unknown): EventObject {
    const event = this.#find(id)
    this.#checkEmpty(body)
    this.#lifecycle.cancel(event)
    return presentEvent(event, this.#publicUrl)
  }

  rescheduleEvent(id: string, body: unknown): EventObject {
    const event = this.#find(id)
    const given = validateBody(rescheduleEventBody, body, this.#options)
    nextStatus(event, 'reschedule')
    const dates = rescheduledDates(event, given, this.#clock.now())
    this.#lifecycle.reschedule(event, dates)
    return presentEvent(event, this.#publicUrl)
  }

  createOrder(body: unknown): OrderResult {
    const given = validateBody(createOrderBody, body, this.#options)
    const result = makeOrder(given, this.#saleParts)
    this.#emit('order.created', orderCreatedData(result))
    return result
  }

  /** The newest first. Tickets are kept of the latest orders alone. */
  latestOrders(filter: OrderFilter): LatestOrders {
    return latestOrders(this.#ledger, filter, this.#publicUrl)
  }

  createVenue(body: unknown): VenueObject {
    const given = validateBody(createVenueBody, body, this.#options)
    this.#ledger.makeRoom('venues')
    const venue = this.#makeVenue(given)
    this.#ledger.addVenue(venue)
    this.#onChange()
    return { ...venue }
  }

  /** @param query names to what stands in the query: a string, or a list where it is repeated */
  listVenues(query: unknown): Page<VenueObject> {
    const { data, hasMore } = this.#ledger.venues.page(validateQuery(listVenuesQuery, query, this.#options))
    return { data: data.map(({ venue }) => ({ ...venue })), hasMore }
  }

  /** The event of the public page `/e/{slug}`. */
  findBySlug(slug: string): CreatedEvent | undefined {
    const event = this.#ledger.bySlug.get(slug)
    if (event === undefined) return undefined
    this.#lifecycle.settle(event)
    return presentWithTickets(event, this.#publicUrl)
  }

  /** When an event goes live by itself, as it was sent; null if it does not. */
  onSaleAt(id: string): string | null {
    return this.#find(id).onSaleAt?.text ?? null
  }

  findVenue(id: string): VenueObject | undefined {
    const found = this.#ledger.venues.get(id)
    return found && { ...found.venue }
  }

  /** A ticket of one of the latest orders, for its wallet pass. */
  findTicket(id: string): FoundTicket | undefined {
    return findTicket(id, this.#saleParts)
  }

  /** How many of each there are, for the status of the sandbox. */
  counts(): { events: number; venues: number; orders: number } {
    const { events, venues, orders } = this.#ledger
    return { events: events.size, venues: venues.size, orders }
  }

  /** Plain JSON, from which `restore` makes the same account. */
  snapshot(): unknown {
    return takeSnapshot(this.#ledger)
  }

  /** Takes the place of what is there; what is yet to come (go-live, past) is due again. @throws if it is no snapshot of an account */
  restore(snapshot: unknown): void {
    const ledger = readSnapshot(snapshot)
    for (const event of this.#ledger.events) this.#lifecycle.disarm(event)
    this.#ledger = ledger
    for (const event of ledger.events) this.#lifecycle.arm(event)
    this.#onChange()
  }

  get #saleParts() {
    return {
      ledger: this.#ledger,
      lifecycle: this.#lifecycle,
      random: this.#random,
      publicUrl: this.#publicUrl,
    }
  }

  #find(id: string): EventRecord {
    const event = this.#ledger.events.get(id)
    if (event === undefined) throw new Refusal(missingResource('event', id))
    this.#lifecycle.settle(event)
    return event
  }

  readonly #problemOfVenue = (id: string): Problem | undefined =>
    this.#ledger.venues.get(id) === undefined ? missingResource('venue', id, 'venue_id') : undefined

  #makeVenue(given: CreateVenue): VenueObject {
    return makeVenue(given, this.#random, this.#now())
  }

  #now(): string {
    return utcText(this.#clock.now())
  }

  #checkEmpty(body: unknown): void {
    validateBody(emptyBody, body === undefined ? {} : body, this.#options)
  }
}
