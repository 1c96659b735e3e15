import {
  type AnyEvent,
  type EventCancelledEvent,
  type EventKind,
  type EventLifecycleEvent,
  type EventOf,
  type EventPublishedEvent,
  type EventRescheduledEvent,
  isKind,
  isKnownEvent,
  type JsonObject,
  type OrderCreatedEvent,
  type OrderTicket,
  parseEvent,
  type UnknownEvent,
  unchecked,
  verifyWebhook,
  type WebhookEvent,
} from 'tix-webhooks'
import { describe, expectTypeOf, test } from 'vitest'

declare const known: WebhookEvent
declare const anyEvent: AnyEvent

describe('a documented event', () => {
  test('is narrowed by a switch on its type', () => {
    switch (known.type) {
      case 'order.created':
        expectTypeOf(known).toEqualTypeOf<OrderCreatedEvent>()
        expectTypeOf(known.data.order.total_cents).toEqualTypeOf<number>()
        expectTypeOf(known.data.order.buyer_email).toEqualTypeOf<string>()
        expectTypeOf(known.data.tickets).toEqualTypeOf<OrderTicket[]>()
        break
      case 'event.published':
        expectTypeOf(known).toEqualTypeOf<EventPublishedEvent>()
        break
      case 'event.cancelled':
      case 'event.rescheduled':
        expectTypeOf(known).toEqualTypeOf<EventCancelledEvent | EventRescheduledEvent>()
        expectTypeOf(known.data).toEqualTypeOf<JsonObject>()
        break
      default:
        expectTypeOf(known).toBeNever()
    }
  })

  test('is one of four kinds, each with an event', () => {
    expectTypeOf<EventKind>().toEqualTypeOf<WebhookEvent['type']>()
    expectTypeOf<EventOf<'order.created'>>().toEqualTypeOf<OrderCreatedEvent>()
    expectTypeOf<EventOf<'event.published' | 'event.cancelled'>>().toEqualTypeOf<
      EventPublishedEvent | EventCancelledEvent
    >()
    expectTypeOf<EventOf<EventKind>>().toEqualTypeOf<WebhookEvent>()
    // @ts-expect-error no such kind
    type _Typo = EventOf<'order.creatd'>
  })

  test('has no field of data that the document does not have', () => {
    if (known.type !== 'order.created') return
    // @ts-expect-error no such field
    known.data.order.total
    // @ts-expect-error no such field
    known.data.tickets[0]?.scan_token
  })

  test('is not for writing to, but its data is the handler’s own', () => {
    // @ts-expect-error the discriminant is readonly
    known.type = 'order.created'
    expectTypeOf<OrderCreatedEvent['data']['order']>().toEqualTypeOf<{
      id: string
      total_cents: number
      buyer_email: string
    }>()
  })
})

describe('the guards', () => {
  test('narrow whatever the service may send', () => {
    if (isKind(anyEvent, 'order.created')) expectTypeOf(anyEvent).toEqualTypeOf<OrderCreatedEvent>()
    if (isKind(anyEvent, 'order.*')) expectTypeOf(anyEvent).toEqualTypeOf<OrderCreatedEvent>()
    if (isKind(anyEvent, 'event.*')) expectTypeOf(anyEvent).toEqualTypeOf<EventLifecycleEvent>()
    if (isKind(known, 'event.*')) expectTypeOf(known).toEqualTypeOf<EventLifecycleEvent>()
    else expectTypeOf(known).toEqualTypeOf<OrderCreatedEvent>()
    if (isKind(anyEvent, 'venue.*')) expectTypeOf(anyEvent).toBeNever()
    if (isKnownEvent(anyEvent)) expectTypeOf(anyEvent).toEqualTypeOf<WebhookEvent>()
    else expectTypeOf(anyEvent).toEqualTypeOf<UnknownEvent>()
  })

  test('keep the data that a schema gives to a documented kind', async () => {
    const event = await parseEvent('{}', { schemas: { 'order.created': unchecked<{ mine: Date }>() } })
    if (isKind(event, 'order.created')) expectTypeOf(event.data).toEqualTypeOf<{ mine: Date }>()
    if (isKind(event, 'order.*')) expectTypeOf(event.data).toEqualTypeOf<{ mine: Date }>()
    if (isKnownEvent(event) && event.type === 'order.created') {
      expectTypeOf(event.data).toEqualTypeOf<{ mine: Date }>()
    }
  })

  test('narrow to one kind where a comparison of the type cannot: documented, added by a schema, or neither', async () => {
    const event = await parseEvent('{}', { schemas: { 'order.refunded': unchecked<{ cents: number }>() } })
    if (isKind(event, 'order.refunded')) expectTypeOf(event.data).toEqualTypeOf<{ cents: number }>()
    if (isKind(event, 'order.created')) expectTypeOf(event).toEqualTypeOf<OrderCreatedEvent>()
    if (isKind(event, 'venue.opened')) expectTypeOf(event.data).not.toBeAny()
  })
})

describe('an event that was parsed or verified', () => {
  test('is any event, never `any`', () => {
    expectTypeOf(parseEvent('{}')).resolves.toEqualTypeOf<AnyEvent>()
    expectTypeOf(verifyWebhook('{}', null, { secret: 'whsec' })).resolves.toEqualTypeOf<AnyEvent>()
  })

  test('has its data from the schema of its kind', async () => {
    const schemas = { 'event.published': unchecked<{ title: string }>() }
    for (const event of [
      await parseEvent('{}', { schemas }),
      await verifyWebhook('{}', null, { secret: 'whsec', schemas }),
    ]) {
      expectTypeOf(event).not.toBeAny()
      expectTypeOf<Extract<typeof event, { readonly type: 'event.published' }>['data']>().toEqualTypeOf<{
        title: string
      }>()
    }
  })
})
