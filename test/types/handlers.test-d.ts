import {
  createReceiver,
  type Envelope,
  EVENT_KINDS,
  type EventCancelledEvent,
  type EventKind,
  type EventLifecycleEvent,
  type EventRescheduledEvent,
  type Handlers,
  memoryStore,
  type OrderCreatedEvent,
  type Receiver,
  type StandardSchemaV1,
  unchecked,
  type WebhookOptions,
} from 'tix-webhooks'
import * as v from 'valibot'
import { describe, expectTypeOf, test } from 'vitest'
import { z } from 'zod'

interface Refund {
  readonly refund_id: string
}

const refunds = { 'order.refunded': unchecked<Refund>() }
const secret = 's'

declare const cond: boolean

describe('a handler', () => {
  test('gets the event of its kind, or the union of its group', () => {
    createReceiver({
      secret,
      on: {
        'order.created': (event) => expectTypeOf(event).toEqualTypeOf<OrderCreatedEvent>(),
        'order.*': (event) => expectTypeOf(event).toEqualTypeOf<OrderCreatedEvent>(),
        'event.*': async (event) => expectTypeOf(event).toEqualTypeOf<EventLifecycleEvent>(),
      },
    })
  })

  test('takes only what its kind has', () => {
    createReceiver({
      secret,
      on: {
        // @ts-expect-error no such field
        'order.created': (event) => event.data.ordr,
        // @ts-expect-error an order's field on an event of the event.* family: there it may be any JSON
        'event.published': (event) => event.data.order.id,
      },
    })
  })

  test('has a key that is a kind, or a group of one', () => {
    createReceiver({
      secret,
      schemas: refunds,
      on: {
        'order.refunded': () => {},
      },
    })
    // @ts-expect-error a kind without a schema
    createReceiver({ secret, schemas: {}, on: { 'order.refunded': () => {} } })
    // @ts-expect-error a kind is not a group
    createReceiver({ secret, on: { 'order.created.*': () => {} } })
  })
})

describe('the context', () => {
  test('has the request that the receiver is given, in every function', () => {
    const receiver = createReceiver<URL>({
      secret: (request) => request.searchParams.getAll('secret'),
      key: (event, { request }) => {
        expectTypeOf(event).not.toBeAny()
        return request.pathname
      },
      on: {},
      onUnhandled: (event, ctx) => {
        expectTypeOf(event).not.toBeAny()
        expectTypeOf(ctx.request).toEqualTypeOf<URL>()
      },
      onError: (error, ctx) => {
        expectTypeOf(error).toBeUnknown()
        expectTypeOf(ctx.request).toEqualTypeOf<URL>()
      },
    })
    expectTypeOf(receiver).toEqualTypeOf<Receiver<URL>>()
    // @ts-expect-error a string is not a URL
    receiver.receive({ header: '', body: new Uint8Array(), request: 'https://example.com' })
    const on: Handlers = { 'order.created': (_event, ctx) => expectTypeOf(ctx.request).toBeUnknown() }
    createReceiver({ secret, on })
  })
})

describe('a schema', () => {
  const published = z.object({ at: z.string().transform((text) => new Date(text)) })
  const refunded = v.object({ cents: v.pipe(v.string(), v.transform(Number)) })

  test('of zod or valibot types the data of its kind and its groups with its output, and of no other', () => {
    createReceiver({
      secret,
      schemas: { 'order.refunded': refunded, 'event.published': published },
      on: {
        'event.published': (event) => expectTypeOf(event.data).toEqualTypeOf<{ at: Date }>(),
        'event.cancelled': (event) => expectTypeOf(event).toEqualTypeOf<EventCancelledEvent>(),
        'order.*': (event) =>
          expectTypeOf(event).toEqualTypeOf<
            OrderCreatedEvent | Envelope<'order.refunded', { cents: number }>
          >(),
        'event.*': (event) =>
          expectTypeOf(event).toEqualTypeOf<
            Envelope<'event.published', { at: Date }> | EventCancelledEvent | EventRescheduledEvent
          >(),
      },
      onUnhandled: (event) => {
        expectTypeOf<Extract<typeof event, { readonly type: 'order.refunded' }>['data']>().toEqualTypeOf<{
          cents: number
        }>()
      },
    })
  })

  test('adds groups, the narrow and the wide', () => {
    createReceiver({
      secret,
      schemas: { 'order.ticket.scanned': unchecked<1>(), 'order.ticket.moved': unchecked<2>() },
      on: {
        'order.ticket.*': (event) => expectTypeOf(event.data).toEqualTypeOf<1 | 2>(),
        'order.*': (event) =>
          expectTypeOf(event.type).toEqualTypeOf<
            'order.created' | 'order.ticket.scanned' | 'order.ticket.moved'
          >(),
      },
    })
  })

  test('may be typed by an interface, or spread by a condition', () => {
    interface Schemas {
      'order.refunded': StandardSchemaV1<unknown, Refund>
    }
    const schemas: Schemas = { 'order.refunded': unchecked() }
    createReceiver({
      secret,
      schemas,
      on: { 'order.refunded': (event) => expectTypeOf(event.data).toEqualTypeOf<Refund>() },
    })
    createReceiver({
      secret,
      schemas: { ...(cond ? refunds : {}) },
      on: { 'order.refunded': (event) => expectTypeOf(event.data).toEqualTypeOf<Refund>() },
    })
  })

  test('is a Standard Schema, and lets no handler take what it does not give', () => {
    createReceiver({
      secret,
      schemas: { 'event.published': published },
      // @ts-expect-error the output is a Date
      on: { 'event.published': (event: { data: { at: string } }) => event.data.at },
    })
  })
})

describe('the options', () => {
  test('take a secret from the environment as it is', () => {
    createReceiver({ secret: process.env.TIX_SIGNING_SECRET, on: {} })
    createReceiver({ secret: [process.env.NEW ?? '', new Uint8Array(32)], on: {} })
    // @ts-expect-error a typo
    createReceiver({ secret, on: {}, toleranceSecond: 300 })
  })

  test('that are undefined count as absent', () => {
    createReceiver({
      secret,
      store: cond ? memoryStore({ maxKeys: undefined, now: undefined }) : undefined,
      namespace: cond ? 'orders' : undefined,
      inbox: undefined,
      schemas: undefined,
      onUnhandled: undefined,
      on: { 'order.created': cond ? () => {} : undefined },
      now: undefined,
      signature: { header: undefined, algorithm: undefined },
    })
  })

  test('can be made beside the call, and by generic code', () => {
    const options: WebhookOptions<Request> = { secret, on: { 'order.created': () => {} } }
    createReceiver({ ...options, toleranceSeconds: cond ? 5 : undefined })
    const on: Handlers = {}
    function set<K extends EventKind>(kind: K, handler: NonNullable<Handlers[K]>): void {
      on[kind] = handler
    }
    set('order.created', (event) => event.data.order.id)
    for (const kind of EVENT_KINDS) on[kind] = (event: { type: string }) => console.info(event.type)
  })
})
