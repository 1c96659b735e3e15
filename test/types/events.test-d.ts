import {
  type AnyEvent,
  type EventCancelledEvent,
  type EventLifecycleEvent,
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

test('a documented event is narrowed by a switch on its type', () => {
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

describe('the guards', () => {
  test('narrow whatever the service may send', () => {
    if (isKind(anyEvent, 'order.created')) expectTypeOf(anyEvent).toEqualTypeOf<OrderCreatedEvent>()
    if (isKind(anyEvent, 'order.*')) expectTypeOf(anyEvent).toEqualTypeOf<OrderCreatedEvent>()
    if (isKind(anyEvent, 'event.*')) expectTypeOf(anyEvent).toEqualTypeOf<EventLifecycleEvent>()
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
})

test('an event that was parsed or verified has its data from the schema of its kind', async () => {
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
