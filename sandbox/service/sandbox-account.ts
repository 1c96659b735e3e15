import type { SampleDataByKind } from 'tix-webhooks/testing'

/** The event object of the API. */
type TicketedEvent = SampleDataByKind['event.published']['event']

/** An event as the API shows it. What was not given, and has no default, is null: an assumption. */
export interface SandboxEvent extends Omit<TicketedEvent, 'description_md' | 'image_url'> {
  description_md: string | null
  image_url: string | null
}

/** An account of the service, for tests that need no HTTP: its methods are those of the API, by the same rules. */
export interface SandboxAccount {
  /** `POST /v2/events`. */
  createEvent(event: NewEvent): CreatedEvent
  /** `GET /v2/events`. */
  listEvents(query?: EventsQuery): SandboxPage<SandboxEvent>
  /** `GET /v2/events/{id}`. */
  retrieveEvent(id: string): SandboxEvent
  /** `PATCH /v2/events/{id}`. */
  updateEvent(id: string, changes: Partial<NewEvent>): SandboxEvent
  /** `POST /v2/events/{id}/publish`: sends `event.published`. */
  publishEvent(id: string): SandboxEvent
  /** `POST /v2/events/{id}/cancel`: sends `event.cancelled`. */
  cancelEvent(id: string): SandboxEvent
  /** `POST /v2/events/{id}/reschedule`: sends `event.rescheduled`. */
  rescheduleEvent(id: string, dates: { doors_at: string; ends_at?: string }): SandboxEvent
  /** `POST /v2/sandbox/orders`: sends `order.created`. */
  createOrder(order: NewOrder): CreatedOrder
  /** `GET /v2/venues`. */
  listVenues(query?: PageQuery): SandboxPage<Venue>
}

/** Which part of a list. */
export interface PageQuery {
  /** 1 to 100, default 25. */
  limit?: number
  /** An id: what is older. */
  starting_after?: string
  /** An id: what is newer. */
  ending_before?: string
}

/** The query of `GET /v2/events`. */
export interface EventsQuery extends PageQuery {
  status?: SandboxEvent['status']
  venue_id?: string
  /** ISO 8601: that day or moment, and later. */
  starts_after?: string
  /** ISO 8601: before that day or moment. */
  starts_before?: string
}

/** The body of `POST /v2/events`. */
export interface NewEvent {
  title: string
  /** One of `listVenues`; or `venue`. */
  venue_id?: string
  /** A venue that is made with the event. */
  venue?: Partial<Omit<Venue, 'id' | 'created_at'>> & { name: string }
  /** ISO 8601 with its offset. */
  doors_at: string
  /** Default `doors_at` and four hours. */
  ends_at?: string
  tickets: readonly { name: string; price_cents: number; quantity: number }[]
  description_md?: string
  image?: string
  /** Default `refundable_24h`. */
  refund_policy?: TicketedEvent['refund_policy']
  /** Default true. */
  transferable?: boolean
  /** When it goes live by itself. */
  on_sale_at?: string
}

/** An event with its ticket tiers. */
export interface CreatedEvent extends SandboxEvent {
  tickets: readonly [Tier, ...Tier[]]
}

/** A ticket tier. */
export interface Tier {
  id: string
  name: string
  price_cents: number
  quantity: number
}

/** The body of `POST /v2/sandbox/orders`. */
export interface NewOrder {
  event_id: string
  ticket_tier_id: string
  quantity: number
}

/** An order with a ticket for each unit of its quantity. */
export interface CreatedOrder {
  order: { id: string; event_id: string; total_cents: number; buyer_email: string }
  tickets: readonly { id: string; tier: string; scan_token: string; wallet_pass_url: string }[]
}

/** A venue. The specification shows its id alone. */
export interface Venue {
  id: string
  name: string
  address: string | null
  city: string | null
  country: string | null
  timezone: string
  capacity: number | null
  created_at: string
}

/** A page of a list. */
export interface SandboxPage<Resource> {
  /** The newest first. */
  readonly data: readonly Resource[]
  readonly hasMore: boolean
}
