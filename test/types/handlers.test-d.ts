import {
  type AnyEvent,
  createReceiver,
  type EventLifecycleEvent,
  type HandlerContext,
  type IdempotencyStore,
  type JsonObject,
  memoryStore,
  type OrderCreatedEvent,
  type Receiver,
  type Secrets,
  unchecked,
  type WebhookOptions,
} from 'tix-webhooks'
import { describe, expectTypeOf, test } from 'vitest'

interface Refund {
  readonly refund_id: string
}

const refunds = { 'order.refunded': unchecked<Refund>() }

describe('a handler', () => {
  test('gets the event of its kind', () => {
    createReceiver({
      secret: 's',
      on: { 'order.created': (event) => expectTypeOf(event).toEqualTypeOf<OrderCreatedEvent>() },
    })
  })

  test('of a group gets the union of its kinds', () => {
    createReceiver({
      secret: 's',
      on: {
        'event.*': (event) => {
          expectTypeOf(event).toEqualTypeOf<EventLifecycleEvent>()
          expectTypeOf(event.type).toEqualTypeOf<
            'event.published' | 'event.cancelled' | 'event.rescheduled'
          >()
          expectTypeOf(event.data).toEqualTypeOf<JsonObject>()
        },
        'order.*': (event) => expectTypeOf(event).toEqualTypeOf<OrderCreatedEvent>(),
      },
    })
  })

  test('of last resort gets any event', () => {
    createReceiver({
      secret: 's',
      on: {},
      onUnhandled: (event) => expectTypeOf(event).toEqualTypeOf<AnyEvent>(),
    })
  })

  test('may be synchronous, asynchronous, and take less than it is given', () => {
    createReceiver({ secret: 's', on: { 'order.created': () => 1, 'event.*': async () => undefined } })
  })

  test('cannot read a field that its event has not', () => {
    createReceiver({
      secret: 's',
      on: {
        // @ts-expect-error no such field
        'order.created': (event) => event.data.ordr,
        // @ts-expect-error an order's field on an event of the event.* family: there it may be any JSON
        'event.published': (event) => event.data.order.id,
      },
    })
  })

  test('cannot be made for data that its kind has not', () => {
    const onRefund = (_event: { data: Refund }): void => {}
    createReceiver({
      secret: 's',
      on: {
        // @ts-expect-error an order is not a refund
        'order.created': onRefund,
      },
    })
  })

  test('is a function', () => {
    createReceiver({
      secret: 's',
      on: {
        // @ts-expect-error not a function
        'order.created': 'issueTickets',
      },
    })
  })
})

describe('a key of `on`', () => {
  test('that is no kind is an error', () => {
    createReceiver({
      secret: 's',
      on: {
        'order.created': () => {},
        // @ts-expect-error a typo
        'order.creatd': () => {},
      },
    })
  })

  test('that is no kind is an error beside schemas too: `on` infers nothing', () => {
    createReceiver({
      secret: 's',
      schemas: refunds,
      on: {
        'order.refunded': () => {},
        // @ts-expect-error a typo
        'order.refundd': () => {},
      },
    })
    createReceiver({
      secret: 's',
      schemas: {},
      // @ts-expect-error a kind without a schema
      on: { 'order.refunded': () => {} },
    })
  })

  test('that is no group of a known kind is an error', () => {
    createReceiver({
      secret: 's',
      // @ts-expect-error there is no '*'
      on: { '*': () => {} },
    })
    createReceiver({
      secret: 's',
      // @ts-expect-error no kind begins with that
      on: { 'venue.*': () => {} },
    })
    createReceiver({
      secret: 's',
      // @ts-expect-error a kind is not a group
      on: { 'order.created.*': () => {} },
    })
  })
})

describe('the context', () => {
  test('says what is known of the delivery', () => {
    createReceiver<URL>({
      secret: 's',
      on: {
        'order.created': (_event, ctx) => {
          expectTypeOf(ctx).toEqualTypeOf<HandlerContext<URL, undefined, undefined>>()
          expectTypeOf(ctx).toEqualTypeOf<{
            readonly request: URL
            readonly account: undefined
            readonly platform?: unknown
            readonly key: string | null
            readonly attempt?: number
            readonly deduplicated: boolean
            readonly replayed: boolean
            readonly signedAt: Date
            readonly secretIndex: number
            readonly rawBody: Uint8Array
            readonly signal: AbortSignal
            readonly tx: undefined
          }>()
        },
      },
    })
  })

  test('has the request that the receiver is given', () => {
    const receiver = createReceiver<URL>({
      secret: (request) => request.searchParams.getAll('secret'),
      key: (_event, { request }) => request.pathname,
      on: { 'event.*': (_event, ctx) => expectTypeOf(ctx.request).toEqualTypeOf<URL>() },
      onUnhandled: (_event, ctx) => expectTypeOf(ctx.request).toEqualTypeOf<URL>(),
      onError: (error, ctx) => {
        expectTypeOf(error).toBeUnknown()
        expectTypeOf(ctx.request).toEqualTypeOf<URL>()
      },
    })
    expectTypeOf(receiver).toEqualTypeOf<Receiver<URL>>()
    // @ts-expect-error a string is not a URL
    receiver.receive({ header: '', body: new Uint8Array(), request: 'https://example.com' })
  })

  test('has an unknown request where none was named', () => {
    createReceiver({
      secret: 's',
      on: { 'order.created': (_event, ctx) => expectTypeOf(ctx.request).toBeUnknown() },
    })
  })
})

describe('the options', () => {
  test('take a secret from the environment as it is', () => {
    createReceiver({ secret: process.env.TIX_SIGNING_SECRET, on: {} })
    createReceiver({ secret: [process.env.NEW ?? '', new Uint8Array(32)], on: {} })
    createReceiver({ secret: async () => process.env.TIX_SIGNING_SECRET, on: {} })
    expectTypeOf<undefined>().toExtend<Secrets>()
    // @ts-expect-error a number is not a secret
    createReceiver({ secret: 1, on: {} })
  })

  test('have no name that is not there', () => {
    // @ts-expect-error a typo
    createReceiver({ secret: 's', on: {}, toleranceSecond: 300 })
    // @ts-expect-error an option of versions before 1.0
    createReceiver({ secret: 's', on: {}, storeFailure: 'reject' })
  })

  test('can be made beside the call', () => {
    const options: WebhookOptions = { secret: 's', on: { 'order.created': () => {} } }
    createReceiver(options)
    const store: IdempotencyStore = memoryStore()
    createReceiver({ secret: 's', on: {}, store, namespace: 'orders' })
  })
})
