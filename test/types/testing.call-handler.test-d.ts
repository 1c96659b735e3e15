import {
  type Envelope,
  type EventLifecycleEvent,
  type HandlerContext,
  type Handlers,
  type OrderCreatedEvent,
  unchecked,
} from 'tix-webhooks'
import { callHandler, sampleEvent } from 'tix-webhooks/testing'
import { describe, expectTypeOf, test } from 'vitest'
import type { ContextOfHandler, EventOfHandler, ResultOfHandler } from '../../testing/call-handler.js'

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

  test('may be one of the own, in part of its type only where the handler says so', () => {
    const narrow = { 'order.created': (event: { data: { order: { id: string } } }) => event.data.order.id }
    callHandler(narrow, 'order.created', { data: { order: { id: 'ord_1' } } })
    // @ts-expect-error an order has an id
    callHandler(narrow, 'order.created', { data: { order: {} } })
  })

  test('has the data of a schema', async () => {
    const schemas = { 'order.refunded': unchecked<{ cents: number; status: 'paid' | 'open' }>() }
    const refunds = {
      'order.refunded': (event) => event.data.status,
    } satisfies Handlers<unknown, unknown, typeof schemas>
    expectTypeOf<EventOfHandler<(typeof refunds)['order.refunded']>>().toEqualTypeOf<
      Envelope<'order.refunded', { cents: number; status: 'paid' | 'open' }>
    >()
    const data = { cents: 1, status: 'paid' as const }
    const result = await callHandler(refunds, 'order.refunded', sampleEvent('order.refunded', { data }))
    expectTypeOf(result).toEqualTypeOf<'paid' | 'open'>()
    // @ts-expect-error no such status
    callHandler(refunds, 'order.refunded', sampleEvent('order.refunded', { data: { cents: 1, status: 'x' } }))
  })
})

describe('a key', () => {
  test('that the map has not is an error', () => {
    // @ts-expect-error a typo
    callHandler(on, 'order.creatd', order)
    // @ts-expect-error only its group has a handler
    callHandler(on, 'event.published', published)
  })
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

describe('the result', () => {
  test('is what the handler comes to', async () => {
    expectTypeOf(await callHandler(on, 'order.created', order)).toEqualTypeOf<{
      id: string
      attempt: number | undefined
    }>()
    expectTypeOf(await callHandler(on, 'event.*', published)).toEqualTypeOf<EventLifecycleEvent['type']>()
    expectTypeOf<ResultOfHandler<() => void>>().toEqualTypeOf<void>()
    expectTypeOf<ResultOfHandler<() => Promise<string>>>().toEqualTypeOf<string>()
  })
})
