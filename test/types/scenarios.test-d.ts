import express from 'express'
import fastify from 'fastify'
import supertest from 'supertest'
import {
  type AnyAnswer,
  createTestClock,
  type DeliveryAttempt,
  deliverWithRetries,
  makeScenario,
  type ScenarioOptions,
  type ScenarioTransport,
  sampleEvent,
  scenarios,
  signedBody,
  signedDelivery,
  type TestDelivery,
} from 'tix-webhooks/testing'
import { describe, expectTypeOf, test } from 'vitest'

const secret = 'whsec_test'
const body = JSON.stringify(sampleEvent('order.created'))

describe('scenarios', () => {
  test('takes the options of the receiver, and any part of the data of a documented kind', () => {
    // Complete data, for a kind that is not documented and that the user's own schema describes.
    scenarios('event.published', { secret, data: { title: 'Harbour Jazz' }, exact: true })
    // @ts-expect-error a secret is needed
    scenarios('order.created', {})
    // @ts-expect-error without `exact` it is a part of the sample
    scenarios('event.published', { secret, data: { title: 'Harbour Jazz' } })
  })

  test('can be the refused ones alone', () => {
    const options: ScenarioOptions = { secret, only: 'refused' }
    scenarios('order.created', options)
    // @ts-expect-error a scenario is made by makeScenario
    scenarios('order.created', { secret, only: 'stale' })
    // @ts-expect-error it is one already
    makeScenario('stale', { body, secret, only: 'refused' })
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

    const posted = deliverWithRetries(
      ({ headers, body }) => supertest(express()).post('/hooks').set(headers).send(body),
      delivery,
    )
    expectTypeOf<Answer<typeof posted>>().toEqualTypeOf<supertest.Response>()
    expectTypeOf<DeliveryAttempt['status']>().toEqualTypeOf<number | undefined>()
    expectTypeOf<DeliveryAttempt['error']>().toBeUnknown()
  })

  test('gives send what it was given: with its event, or with its bytes', async () => {
    deliverWithRetries((signed) => {
      expectTypeOf(signed).toEqualTypeOf<typeof delivery>()
      return { status: 200 }
    }, delivery)
    deliverWithRetries(
      (signed) => {
        expectTypeOf(signed.body).toExtend<Uint8Array>()
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
