import * as fc from 'fast-check'
import {
  type EventKind,
  type EventOf,
  isKnownEvent,
  type UnknownEvent,
  type WebhookEvent,
} from '../../src/index.js'
import { isoUtc } from '../deliveries/dates.js'
import { moments, orderData, rescheduledData } from './event-data.js'
import { joined, jsonObjects, jsonTexts } from './json.js'

const EVENTS: { readonly [Kind in EventKind]: () => fc.Arbitrary<EventOf<Kind>> } = {
  'order.created': () =>
    fc.tuple(moments(), orderData()).map(([ms, data]) => happened('order.created', isoUtc(ms), data)),
  'event.published': () => ticketedEvents('event.published', 'on_sale'),
  'event.cancelled': () => ticketedEvents('event.cancelled', 'cancelled'),
  'event.rescheduled': () =>
    rescheduledData().map((data) => happened('event.rescheduled', data.event.updated_at, data)),
}

/** Undocumented kinds that look like documented ones, like groups, or like properties of objects. */
const ODD_KINDS =
  'order.refunded|order.created.v2|order|Order.Created|order.created |event.*|event.|event.sold_out|*|ticket/scanned|constructor|__proto__|toString'.split(
    '|',
  )

/**
 * Events of one documented kind, valid by the service's specification: any text, free and expensive orders, no tickets or many,
 * dates in any time zone. All addresses and URLs are at reserved names.
 *
 * The payloads of the `event.*` kinds are not documented: these have the event as the API returns it, as `sampleEvent` does.
 *
 * @throws TypeError when the kind is not documented
 * @example
 * ```ts
 * import * as fc from 'fast-check'
 * import type { Handlers } from 'tix-webhooks'
 * import { callHandler } from 'tix-webhooks/testing'
 * import { eventsOf } from 'tix-webhooks/testing/fast-check'
 *
 * const on = { 'order.created': ({ data }) => console.assert(data.order.total_cents >= 0) } satisfies Handlers
 *
 * await fc.assert(fc.asyncProperty(eventsOf('order.created'), (event) => callHandler(on, 'order.created', event)))
 * ```
 */
export function eventsOf<Kind extends EventKind>(kind: Kind): fc.Arbitrary<EventOf<Kind>> {
  if (!Object.hasOwn(EVENTS, kind)) {
    throw new TypeError(
      `kind must be one of ${Object.keys(EVENTS).join(', ')}; unknownEvents() makes events of other kinds.`,
    )
  }
  return EVENTS[kind]() as unknown as fc.Arbitrary<EventOf<Kind>>
}

/**
 * Events of all documented kinds.
 *
 * @example
 * ```ts
 * import * as fc from 'fast-check'
 * import { isKnownEvent } from 'tix-webhooks'
 * import { knownEvents } from 'tix-webhooks/testing/fast-check'
 *
 * fc.assert(fc.property(knownEvents(), (event) => isKnownEvent(event)))
 * ```
 */
export function knownEvents(): fc.Arbitrary<WebhookEvent> {
  const kinds = Object.keys(EVENTS) as EventKind[]
  return fc.oneof(...kinds.map((kind): fc.Arbitrary<WebhookEvent> => eventsOf(kind)))
}

/**
 * Events of undocumented kinds, with plain and unusual names, and any JSON object as their data: for your `onUnhandled`.
 *
 * @example
 * ```ts
 * import * as fc from 'fast-check'
 * import { isKnownEvent } from 'tix-webhooks'
 * import { unknownEvents } from 'tix-webhooks/testing/fast-check'
 *
 * fc.assert(fc.property(unknownEvents(), (event) => !isKnownEvent(event)))
 * ```
 */
export function unknownEvents(): fc.Arbitrary<UnknownEvent> {
  return fc
    .tuple(unknownKinds(), moments(), jsonObjects())
    .map(([type, ms, data]) => ({ type, created_at: isoUtc(ms), data }))
}

/** Undocumented kinds. */
export function unknownKinds(): fc.Arbitrary<string> {
  const word = joined(fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz_'), { minLength: 1 })
  return fc
    .oneof(
      fc.tuple(word, word).map((words) => words.join('.')),
      fc.constantFrom(...ODD_KINDS),
      jsonTexts(),
    )
    .filter((type) => type !== '' && !isKnownEvent({ type }))
}

function ticketedEvents<Kind extends EventKind>(
  kind: Kind,
  status: 'on_sale' | 'cancelled',
): fc.Arbitrary<EventOf<Kind>> {
  return rescheduledData(status).map(({ event }) => happened(kind, event.updated_at, { event }))
}

/** The cast is needed because the data's type is an interface, which TypeScript does not accept as JSON. */
function happened<Kind extends EventKind>(type: Kind, created_at: string, data: object): EventOf<Kind> {
  return { type, created_at, data } as unknown as EventOf<Kind>
}
