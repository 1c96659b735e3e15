import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import supertest from 'supertest'
import { tixWebhooks } from 'tix-webhooks/fetch'
import {
  type AnyAnswer,
  createTestClock,
  type DeliveryAttempt,
  deliverWithRetries,
  signedBody,
  signedDelivery,
  type TestDelivery,
} from 'tix-webhooks/testing'
import { describe, expectTypeOf, test } from 'vitest'

const secret = 'whsec_test'

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
