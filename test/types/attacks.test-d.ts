import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import supertest from 'supertest'
import { tixWebhooks } from 'tix-webhooks/fetch'
import {
  type AnyAnswer,
  type Attack,
  type AttackName,
  attacks,
  createTestClock,
  type DeliveryAttempt,
  deliverWithRetries,
  signedBody,
  signedDelivery,
  type TestDelivery,
} from 'tix-webhooks/testing'
import { describe, expectTypeOf, test } from 'vitest'

const secret = 'whsec_test'

describe('attacks', () => {
  test('gives a table, of a documented kind and of any other', () => {
    expectTypeOf(attacks('order.created', { secret })).toEqualTypeOf<Promise<readonly Attack[]>>()
    expectTypeOf(attacks('order.refunded', { secret, data: { cents: 1 } })).toEqualTypeOf<
      Promise<readonly Attack[]>
    >()
    expectTypeOf<Attack['name']>().toEqualTypeOf<AttackName>()
    expectTypeOf<Attack['deliveries'][number]>().toEqualTypeOf<TestDelivery>()
  })

  test('takes a secret of the environment, and the options of the receiver', () => {
    const { now } = createTestClock()
    attacks('event.published', { secret: process.env.TIX_SIGNING_SECRET, now, toleranceSeconds: 60 })
    attacks('event.published', { secret: [secret, new Uint8Array(32)], signature: { header: 'x-tix' } })
    // @ts-expect-error a secret is needed
    attacks('order.created', {})
    // @ts-expect-error there is no such option
    attacks('order.created', { secret, timestamp: 1 })
    // @ts-expect-error there is no such algorithm
    attacks('order.created', { secret, signature: { algorithm: 'MD5' } })
  })

  test('takes any part of the data of a documented kind, and nothing else', () => {
    attacks('order.created', { secret, data: { order: { total_cents: 0 }, tickets: [{ tier: 'VIP' }] } })
    // @ts-expect-error a misspelt field
    attacks('order.created', { secret, data: { order: { total: 0 } } })
    // @ts-expect-error an amount is a number
    attacks('order.created', { secret, data: { order: { total_cents: '0' } } })
    // Complete data, for a kind that is not documented and that the user's own schema describes.
    attacks('event.published', { secret, data: { title: 'Harbour Jazz' }, exact: true })
    // @ts-expect-error without `exact` it is a part of the sample
    attacks('event.published', { secret, data: { title: 'Harbour Jazz' } })
  })

  test('deliver gives the answers that send gives', () => {
    const { deliver } = {} as Attack
    expectTypeOf(deliver(() => 1)).toEqualTypeOf<Promise<number[]>>()
    expectTypeOf(deliver(async () => 'one')).toEqualTypeOf<Promise<string[]>>()
    expectTypeOf(deliver((delivery) => fetch('http://localhost/hooks', delivery))).toEqualTypeOf<
      Promise<Response[]>
    >()
    const inject = deliver((delivery) => fastify().inject(delivery.toInject('/hooks')))
    expectTypeOf<Awaited<typeof inject>[number]['statusCode']>().toEqualTypeOf<number>()
    const post = deliver(({ headers, body }) => supertest(express()).post('/hooks').set(headers).send(body))
    expectTypeOf<Awaited<typeof post>[number]>().toEqualTypeOf<supertest.Response>()
  })
})

describe('deliverWithRetries', async () => {
  const delivery = await signedDelivery('order.created', { secret })

  test('keeps the answer of each client in the attempts', () => {
    const POST = tixWebhooks({ secret, on: {} })
    const handled = deliverWithRetries(({ toRequest }) => POST(toRequest('/hooks')), delivery)
    expectTypeOf(handled).toEqualTypeOf<Promise<readonly DeliveryAttempt<Response>[]>>()

    const requested = deliverWithRetries((signed) => new Hono().request('/hooks', signed), delivery)
    expectTypeOf(requested).toEqualTypeOf<Promise<readonly DeliveryAttempt<Response>[]>>()

    const injected = deliverWithRetries((signed) => fastify().inject(signed.toInject('/hooks')), delivery)
    expectTypeOf<Answer<typeof injected>['payload']>().toEqualTypeOf<string>()

    const posted = deliverWithRetries(
      ({ headers, body }) => supertest(express()).post('/hooks').set(headers).send(body),
      delivery,
    )
    expectTypeOf<Answer<typeof posted>>().toEqualTypeOf<supertest.Response>()
  })

  test('says of an attempt what there may not be', () => {
    expectTypeOf<DeliveryAttempt['answer']>().toEqualTypeOf<AnyAnswer | undefined>()
    expectTypeOf<DeliveryAttempt['status']>().toEqualTypeOf<number | undefined>()
    expectTypeOf<DeliveryAttempt['error']>().toBeUnknown()
  })

  test('gives send what it was given: with its event, or with its bytes', async () => {
    deliverWithRetries((signed) => {
      expectTypeOf(signed).toEqualTypeOf<typeof delivery>()
      expectTypeOf(signed.event.data.order.id).toEqualTypeOf<string>()
      return { status: 200 }
    }, delivery)
    deliverWithRetries(
      ({ body }) => {
        expectTypeOf(body).toExtend<Uint8Array>()
        return { status: 200 }
      },
      await signedBody(new Uint8Array(), { secret }),
    )
  })

  test('refuses anything but an answer, a delivery and a clock', () => {
    // @ts-expect-error nothing is returned
    deliverWithRetries((signed) => void signed, delivery)
    // @ts-expect-error no status
    deliverWithRetries(() => ({ ok: true }), delivery)
    // @ts-expect-error it cannot be signed again
    deliverWithRetries(() => ({ status: 200 }), {} as TestDelivery)
    // @ts-expect-error its now is not the clock
    deliverWithRetries(() => ({ status: 200 }), delivery, { clock: createTestClock().now })
  })
})

type Answer<Attempts extends Promise<readonly DeliveryAttempt<AnyAnswer>[]>> = NonNullable<
  Awaited<Attempts>[number]['answer']
>
