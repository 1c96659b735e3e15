import {
  createReceiver,
  type Envelope,
  EVENT_KINDS,
  type EventCancelledEvent,
  type EventKind,
  type EventRescheduledEvent,
  type Handlers,
  memoryStore,
  type OrderCreatedEvent,
  type Outcome,
  type Receiver,
  type Replayed,
  redactError,
  storable,
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

test('the context has the request that the receiver is given, in every function', () => {
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

test('a replay has one outcome for a key, and a list of them for a filter', async () => {
  const { replay } = createReceiver<URL>({ secret: 's', on: {} })
  expectTypeOf(await replay('key')).toEqualTypeOf<Outcome | undefined>()
  expectTypeOf(await replay({ group: 'g', limit: 5 }, { request: new URL('http://x') })).toEqualTypeOf<
    readonly Replayed[]
  >()
  // @ts-expect-error the request is that of the framework
  await replay('key', { request: new Request('http://x') })
})

test('parkAfter has a limit', () => {
  const common = { secret, on: {}, store: memoryStore(), namespace: 'orders' }
  createReceiver({ ...common, parkAfter: { hours: 20, attempts: undefined } })
  // @ts-expect-error it parks nothing
  createReceiver({ ...common, parkAfter: {} })
})

test('what redactError and storable are given keeps its type', () => {
  expectTypeOf(redactError(new RangeError('m'))).toEqualTypeOf<RangeError>()
  expectTypeOf(redactError({} as unknown)).toEqualTypeOf<unknown>()
  expectTypeOf(storable({} as OrderCreatedEvent)).toEqualTypeOf<OrderCreatedEvent>()
  expectTypeOf(storable('text' as string | undefined)).toEqualTypeOf<string | undefined>()
})
