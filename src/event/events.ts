import type { OutputOf } from './schema.js'

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

/** The documented kinds, with their data. */
export interface EventDataByKind {
  'order.created': OrderCreatedData
  'event.published': JsonObject
  'event.cancelled': JsonObject
  'event.rescheduled': JsonObject
}

export type EventKind = keyof EventDataByKind

/** The kinds of a schema map with known keys: the type `SchemaMap` itself names none. */
type KnownKey<Schemas> = string extends keyof Schemas ? never : keyof Schemas & string

/** The kinds that have a type: the documented ones and those of `schemas`. */
export type KindOf<Schemas = Record<never, never>> = EventKind | KnownKey<Schemas>

/** The groups that a kind is in: `a.b.c` is in `a.*` and in `a.b.*`. */
export type GroupOf<Kind extends string> = Kind extends `${infer Head}.${infer Rest}`
  ? `${Head}.*` | (Rest extends `${string}.${string}` ? `${Head}.${GroupOf<Rest>}` : never)
  : never

type DataOf<Kind, Schemas> =
  Kind extends KnownKey<Schemas>
    ? OutputOf<Schemas[Kind]>
    : Kind extends EventKind
      ? EventDataByKind[Kind]
      : never

type EventByKind<Schemas> = { [Kind in KindOf<Schemas>]: Envelope<Kind, DataOf<Kind, Schemas>> }

/**
 * The event of one kind: `EventOf<'order.created'>`; with your schemas `EventOf<'order.refunded', typeof schemas>`.
 *
 * @typeParam Schemas the type of the option `schemas`, whose schemas type the data of their kinds
 */
export type EventOf<Kind extends KindOf<Schemas>, Schemas = Record<never, never>> = EventByKind<Schemas>[Kind]

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
type Narrowed<Event, Kind extends string> = [Extract<Event, { readonly type: Kind }>] extends [never]
  ? Event & (Kind extends EventKind ? EventOf<Kind> : Envelope<Kind, JsonObject>)
  : Extract<Event, { readonly type: Kind }>

/** A documented kind whose data no schema has replaced: also assignable to `EventOf<Kind>` if the kind is a type parameter. */
type NarrowedDocumented<Event, Kind extends EventKind> = [WebhookEvent] extends [Event]
  ? Extract<Event, { readonly type: Kind }> & EventOf<Kind>
  : Narrowed<Event, Kind>

/** The documented kinds of a group; of a kind, itself. */
type KindsIn<KindOrGroup extends string> = KindOrGroup extends `${infer Prefix}.*`
  ? Extract<EventKind, `${Prefix}.${string}`>
  : KindOrGroup

/**
 * Whether the event is of this kind, or of a documented kind in this group. It narrows types that a comparison of `type` cannot: in
 * `onUnhandled` and after `verifyWebhook`, where the event may be of any kind.
 *
 * @param kind a kind, or a group such as `event.*`: here it has its documented kinds alone. In `on` it also has those of your `schemas`, which
 * this function does not know: compare each of those by itself
 * @throws TypeError when it is given something else
 * @example
 * ```ts
 * if (isKind(event, 'order.created')) console.info(event.data.order.id)
 * ```
 */
export function isKind<Event extends { readonly type: string }, const Kind extends EventKind>(
  event: Event,
  kind: Kind,
): event is NarrowedDocumented<Event, Kind>
export function isKind<Event extends { readonly type: string }, const KindOrGroup extends string>(
  event: Event,
  kind: KindOrGroup,
): event is Narrowed<Event, KindsIn<KindOrGroup>>
export function isKind(event: { readonly type: string }, kind: string): boolean {
  if (typeof kind !== 'string' || typeof event?.type !== 'string') {
    throw new TypeError("isKind takes an event and a kind, as in isKind(event, 'order.created').")
  }
  if (!kind.endsWith('.*')) return event.type === kind
  return isKnownEvent(event) && event.type.startsWith(kind.slice(0, -1))
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
