import fastify from 'fastify'
import type {
  Envelope,
  EventLifecycleEvent,
  EventOf,
  HandlerContext,
  Handlers,
  OrderCreatedEvent,
} from 'tix-webhooks'
import {
  type AnyAnswer,
  callHandler,
  createTestClock,
  type DeliveryAttempt,
  deliverWithRetries,
  makeScenario,
  type ScenarioTransport,
  type SignedDelivery,
  sampleEvent,
  scenarios,
  signedBody,
  signedDelivery,
} from 'tix-webhooks/testing'
import { describe, expectTypeOf, test } from 'vitest'
import type { ContextOfHandler, EventOfHandler, ResultOfHandler } from '../../testing/call-handler.js'

const secret = 's'

test('a misspelt field is an error in an order, at every depth', () => {
  // @ts-expect-error one deeper
  sampleEvent('order.created', { data: { order: { total: 0 } } })
  // @ts-expect-error in an element of a list
  sampleEvent('order.created', { data: { tickets: [{ id: 'tik_1' }, { teir: 'x' }] } })
})

describe('an override', () => {
  test('may be any part of the data', () => {
    signedDelivery('order.created', { secret, data: { order: {}, tickets: [{}, { tier: 'balcony' }] } })
    signedDelivery('event.rescheduled', { secret, data: { event: { status: 'sold_out' } } })
  })

  test('is of the type of its field', () => {
    // @ts-expect-error a string is not an amount
    sampleEvent('order.created', { data: { order: { total_cents: '0' } } })
    // @ts-expect-error no such status
    sampleEvent('event.published', { data: { event: { status: 'canceled' } } })
  })
})

describe('the options', () => {
  test('have no name that is not there', () => {
    // @ts-expect-error a typo
    signedDelivery('order.refunded', { secret, timestmp: 1 })
    // @ts-expect-error the sample is not signed
    sampleEvent('order.created', { secret })
  })

  test('must have a secret, which may come from the environment as it is', () => {
    // @ts-expect-error no secret
    signedDelivery('order.created', {})
    signedDelivery('order.created', { secret: process.env.SECRET })
  })
})

describe('the event', () => {
  test('is that of its kind', async () => {
    expectTypeOf(sampleEvent('order.created')).toEqualTypeOf<OrderCreatedEvent>()
    expectTypeOf(sampleEvent('event.cancelled')).toEqualTypeOf<EventOf<'event.cancelled'>>()
    const delivery = await signedDelivery('order.created', { secret, data: { order: { total_cents: 0 } } })
    expectTypeOf(delivery).toEqualTypeOf<SignedDelivery<OrderCreatedEvent>>()
    expectTypeOf(delivery.event.data.order.total_cents).toEqualTypeOf<number>()
    expectTypeOf(await delivery.signAgain()).toEqualTypeOf<SignedDelivery<OrderCreatedEvent>>()
  })

  test('of a kind that is not documented has the data that it was given', async () => {
    const { event } = await signedDelivery('order.refunded', { secret, data: { refund: { cents: 1 } } })
    expectTypeOf(event).toEqualTypeOf<Envelope<'order.refunded', { refund: { cents: number } }>>()
    // @ts-expect-error a misspelt kind has no sample
    sampleEvent('order.creatd')
    // @ts-expect-error no such field
    event.data.order
    // @ts-expect-error data is an object
    sampleEvent('order.refunded', { data: 'refund' })
  })

  test('with exact has the data that it was given, whatever the kind', async () => {
    const { event } = await signedDelivery('order.created', { secret, exact: true, data: { anything: 1 } })
    expectTypeOf(event).toEqualTypeOf<Envelope<'order.created', { anything: number }>>()
    // @ts-expect-error nothing is filled in
    sampleEvent('event.published', { exact: true })
    // @ts-expect-error with exact: false it is an order
    sampleEvent('order.created', { exact: false, data: { anything: 1 } })
  })

  test('has data as JSON says it', async () => {
    const data = {
      at: new Date(),
      refunds: [{ cents: 1, on: new Date() }],
      by: 'buyer' as 'buyer' | 'seller',
    }
    const { event } = await signedDelivery('order.refunded', { secret, data })
    expectTypeOf(event.data.at).toEqualTypeOf<string>()
    expectTypeOf(event.data.refunds[0]?.on).toEqualTypeOf<string | undefined>()
    expectTypeOf(event.data.by).toEqualTypeOf<'buyer' | 'seller'>()
  })

  test('of a kind that is any string has that as its type', async () => {
    const kind = 'order.created' as string
    const { event } = await signedDelivery(kind, { secret, data: { a: 1 } })
    expectTypeOf(event).toEqualTypeOf<Envelope<string, { a: number }>>()
  })
})

test('a delivery has a body that is what was signed', async () => {
  expectTypeOf((await signedDelivery('order.created', { secret })).body).toEqualTypeOf<string>()
  const bytes = await signedBody(new Uint8Array(), { secret })
  expectTypeOf(bytes.body).toEqualTypeOf<Uint8Array<ArrayBuffer>>()
  expectTypeOf(bytes).toExtend<RequestInit>()
})

const body = JSON.stringify(sampleEvent('order.created'))

describe('scenarios', () => {
  test('takes the options of the receiver, and for another kind a body', () => {
    scenarios('order.refunded', { secret, body: () => body })
    // @ts-expect-error a secret is needed
    scenarios('order.created', {})
    // @ts-expect-error there are no samples of this kind
    scenarios('order.refunded', { secret })
  })

  test('makeScenario takes a known name, or any string', async () => {
    makeScenario(process.argv[2] ?? '', { body: () => body, secret })
    // @ts-expect-error a body is needed
    makeScenario('stale', { secret })
    const { deliver } = await makeScenario('chunked', { body, secret })
    expectTypeOf(deliver(({ transport }) => transport)).toEqualTypeOf<
      Promise<(ScenarioTransport | undefined)[]>
    >()
    expectTypeOf(deliver(async () => 'one')).toEqualTypeOf<Promise<string[]>>()
  })
})

describe('deliverWithRetries', async () => {
  const delivery = await signedDelivery('order.created', { secret })

  test('keeps the answer of each client in the attempts', () => {
    const handled = deliverWithRetries((signed) => fetch('http://localhost/hooks', signed), delivery)
    expectTypeOf(handled).toEqualTypeOf<Promise<readonly DeliveryAttempt<Response>[]>>()

    const injected = deliverWithRetries((signed) => fastify().inject(signed.toInject('/hooks')), delivery)
    expectTypeOf<Answer<typeof injected>['payload']>().toEqualTypeOf<string>()
  })

  test('refuses anything but an answer, a delivery and a clock', () => {
    // @ts-expect-error nothing is returned
    deliverWithRetries((signed) => void signed, delivery)
    // @ts-expect-error no status
    deliverWithRetries(() => ({ ok: true }), delivery)
    // @ts-expect-error its now is not the clock
    deliverWithRetries(() => ({ status: 200 }), delivery, { clock: createTestClock().now })
  })
})

type Answer<Attempts extends Promise<readonly DeliveryAttempt<AnyAnswer>[]>> = NonNullable<
  Awaited<Attempts>[number]['answer']
>

interface Tx {
  query(sql: string): Promise<unknown>
}

const order = sampleEvent('order.created')
const published = sampleEvent('event.published')

const on = {
  'order.created': async (event, { attempt }) => ({ id: event.data.order.id, attempt }),
  'event.*': (event) => event.type,
} satisfies Handlers<Request, Tx>

describe('the event', () => {
  test('is that of the key, of a kind or of a group', () => {
    callHandler(on, 'order.created', order)
    callHandler(on, 'event.*', published)
    expectTypeOf<EventOfHandler<(typeof on)['order.created']>>().toEqualTypeOf<OrderCreatedEvent>()
    expectTypeOf<EventOfHandler<(typeof on)['event.*']>>().toEqualTypeOf<EventLifecycleEvent>()
  })

  test('of another kind is an error', () => {
    // @ts-expect-error an event for an order
    callHandler(on, 'order.created', published)
    // @ts-expect-error an order for an event
    callHandler(on, 'event.*', order)
  })
})

test('a key that the map has not is an error', () => {
  // @ts-expect-error a typo
  callHandler(on, 'order.creatd', order)
  // @ts-expect-error only its group has a handler
  callHandler(on, 'event.published', published)
})

describe('the context', () => {
  test('is any part of what the handler takes', () => {
    callHandler(on, 'order.created', order, { attempt: 2, request: new Request('http://localhost') })
    callHandler(on, 'order.created', order, { tx: { query: async () => {} }, key: null })
    expectTypeOf<ContextOfHandler<(typeof on)['order.created']>>().toEqualTypeOf<
      HandlerContext<Request, Tx>
    >()
  })

  test('has nothing that no context has, and nothing of a wrong type', () => {
    // @ts-expect-error a typo
    callHandler(on, 'order.created', order, { attemp: 2 })
    // @ts-expect-error a transaction has `query`
    callHandler(on, 'order.created', order, { tx: {} })
  })
})

test('the result is what the handler comes to', async () => {
  expectTypeOf(await callHandler(on, 'order.created', order)).toEqualTypeOf<{
    id: string
    attempt: number | undefined
  }>()
  expectTypeOf(await callHandler(on, 'event.*', published)).toEqualTypeOf<EventLifecycleEvent['type']>()
  expectTypeOf<ResultOfHandler<() => void>>().toEqualTypeOf<void>()
  expectTypeOf<ResultOfHandler<() => Promise<string>>>().toEqualTypeOf<string>()
})
