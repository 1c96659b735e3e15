export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject
export type JsonObject = { [key: string]: JsonValue }

/** Whether a JSON value is an object: not an array, not null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * The envelope: the fields that every event has around its data. An `id` is not documented; it is kept if present, as is any other field.
 */
export interface Envelope<Type extends string, Data> {
  readonly type: Type
  /** ISO 8601, UTC. */
  readonly created_at: string
  readonly data: Data
  readonly id?: unknown
  readonly [field: string]: unknown
}

/** The data of `order.created`: the order and its tickets. Fields that are not listed are kept unchanged. */
export interface OrderCreatedData {
  order: {
    /** Begins with `ord_`. */
    id: string
    /** In minor units of the currency. */
    total_cents: number
    buyer_email: string
  }
  tickets: OrderTicket[]
}

export interface OrderTicket {
  /** Begins with `tik_`. */
  id: string
  /** The name of the tier. */
  tier: string
}

/**
 * The event that tickets are sold for, as the service's API returns it. The payloads of the `event.*` kinds are not documented, so nothing
 * uses this type; it is here for your own schema.
 */
export interface TicketedEvent {
  /** Begins with `evt_`. */
  id: string
  title: string
  slug: string
  url: string
  status: 'draft' | 'on_sale' | 'sold_out' | 'past' | 'cancelled'
  /** Begins with `ven_`. */
  venue_id: string
  /** ISO 8601 with the offset of the time zone. */
  doors_at: string
  /** ISO 8601 with the offset of the time zone. */
  ends_at: string
  /** Markdown, sanitized by the service. */
  description_md: string
  image_url: string
  capacity: number
  sold: number
  /** In minor units of the currency. */
  gross_cents: number
  refund_policy: 'anytime' | 'refundable_24h' | 'refundable_7d' | 'final' | 'exchange_only'
  transferable: boolean
  /** ISO 8601, UTC. */
  created_at: string
  /** ISO 8601, UTC. */
  updated_at: string
}

/** The documented kinds, with their data. */
export interface EventDataByKind {
  'order.created': OrderCreatedData
  'event.published': JsonObject
  'event.cancelled': JsonObject
  'event.rescheduled': JsonObject
}

export type EventKind = keyof EventDataByKind

type EventByKind = { [Kind in EventKind]: Envelope<Kind, EventDataByKind[Kind]> }

/** The event of one kind: `EventOf<'order.created'>`. */
export type EventOf<Kind extends EventKind> = EventByKind[Kind]

export type OrderCreatedEvent = EventOf<'order.created'>
export type EventPublishedEvent = EventOf<'event.published'>
export type EventCancelledEvent = EventOf<'event.cancelled'>
export type EventRescheduledEvent = EventOf<'event.rescheduled'>

/** The three kinds about a ticketed event. */
export type EventLifecycleEvent = EventPublishedEvent | EventCancelledEvent | EventRescheduledEvent

/** Any documented event; `switch (event.type)` narrows it. */
export type WebhookEvent = OrderCreatedEvent | EventLifecycleEvent

/** An authentic event of a kind that is not documented. */
export type UnknownEvent = Envelope<string, JsonObject>

/** Any event that the service may send; the guards narrow it. */
export type AnyEvent = WebhookEvent | UnknownEvent

export const EVENT_KINDS: readonly EventKind[] = [
  'order.created',
  'event.published',
  'event.cancelled',
  'event.rescheduled',
]

/** The type that a guard narrows to: the member of the event's own union, so that data typed by a schema stays typed. */
export type Narrowed<Event, Kind extends string> = [Extract<Event, { readonly type: Kind }>] extends [never]
  ? Event & (Kind extends EventKind ? EventOf<Kind> : Envelope<Kind, JsonObject>)
  : Extract<Event, { readonly type: Kind }>

/** A documented kind whose data no schema has replaced: also assignable to `EventOf<Kind>` if the kind is a type parameter. */
export type NarrowedDocumented<Event, Kind extends EventKind> = [WebhookEvent] extends [Event]
  ? Extract<Event, { readonly type: Kind }> & EventOf<Kind>
  : Narrowed<Event, Kind>

/**
 * Whether the event is of this kind. It narrows types that a comparison of `type` cannot: in `onUnhandled` and after `verifyWebhook`,
 * where the event may be of any kind.
 *
 * @example
 * ```ts
 * if (isKind(event, 'order.created')) console.info(event.data.order.id)
 * ```
 */
export function isKind<Event extends { readonly type: string }, const Kind extends EventKind>(
  event: Event,
  kind: Kind,
): event is NarrowedDocumented<Event, Kind>
export function isKind<Event extends { readonly type: string }, const Kind extends string>(
  event: Event,
  kind: Kind,
): event is Narrowed<Event, Kind>
export function isKind(event: { readonly type: string }, kind: string): boolean {
  return event.type === kind
}

/**
 * Whether the event is of a documented kind.
 *
 * @example
 * ```ts
 * console.info(isKnownEvent(event) ? 'documented' : 'new', event.type)
 * ```
 */
export function isKnownEvent<Event extends { readonly type: string }>(
  event: Event,
): event is Narrowed<Event, EventKind> {
  return (EVENT_KINDS as readonly string[]).includes(event.type)
}

/** Whether the event is an `order.created`. */
export function isOrderCreated<Event extends { readonly type: string }>(
  event: Event,
): event is Narrowed<Event, 'order.created'> {
  return event.type === 'order.created'
}

/** Whether the event is one of the three documented `event.*` kinds. */
export function isEventLifecycle<Event extends { readonly type: string }>(
  event: Event,
): event is Narrowed<Event, Exclude<EventKind, 'order.created'>> {
  return isKnownEvent(event) && event.type !== 'order.created'
}
