import type { Envelope, EventOf, OrderCreatedEvent } from 'tix-webhooks'
import {
  type SignedBody,
  type SignedDelivery,
  sampleEvent,
  signedBody,
  signedDelivery,
} from 'tix-webhooks/testing'
import { describe, expectTypeOf, test } from 'vitest'

const secret = 's'

describe('a misspelt field is an error', () => {
  test('in an order, at every depth', () => {
    // @ts-expect-error one deeper
    sampleEvent('order.created', { data: { order: { total: 0 } } })
    // @ts-expect-error in an element of a list
    sampleEvent('order.created', { data: { tickets: [{ id: 'tik_1' }, { teir: 'x' }] } })
  })

  test('in an event of the group event.*', () => {
    // @ts-expect-error one deeper
    signedDelivery('event.published', { secret, data: { event: { name: 'x' } } })
    // @ts-expect-error one deeper
    signedDelivery('event.rescheduled', { secret, data: { previous_attributes: { doors: '' } } })
  })
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
    // @ts-expect-error the body already has its time
    signedBody('{}', { secret, at: 0 })
  })

  test('must have a secret, which may come from the environment as it is', () => {
    // @ts-expect-error no secret
    signedDelivery('order.created', {})
    // @ts-expect-error no secret
    signedBody('{}', {})
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

describe('a delivery', () => {
  test('is a RequestInit, and gives a Request', async () => {
    const delivery = await signedDelivery('order.created', { secret })
    expectTypeOf(delivery.toRequest('/hooks')).toEqualTypeOf<Request>()
    expectTypeOf(delivery.toRequest).parameter(0).toEqualTypeOf<string | URL>()
  })

  test('has a body that is what was signed', async () => {
    expectTypeOf((await signedDelivery('order.created', { secret })).body).toEqualTypeOf<string>()
    expectTypeOf(await signedBody('{}', { secret })).toExtend<SignedBody>()
    const bytes = await signedBody(new Uint8Array(), { secret })
    expectTypeOf(bytes.body).toEqualTypeOf<Uint8Array<ArrayBuffer>>()
    expectTypeOf(bytes).toExtend<RequestInit>()
    // @ts-expect-error an event is not text yet
    signedBody(sampleEvent('order.created'), { secret })
  })
})
