import express from 'express'
import fastify from 'fastify'
import supertest from 'supertest'
import {
  createTestClock,
  makeScenario,
  SCENARIOS,
  type Scenario,
  type ScenarioDelivery,
  type ScenarioInfo,
  type ScenarioName,
  type ScenarioOptions,
  type ScenarioTransport,
  type ScenarioVerdict,
  sampleEvent,
  scenarios,
  type TestDelivery,
} from 'tix-webhooks/testing'
import { describe, expectTypeOf, test } from 'vitest'

const secret = 'whsec_test'
const body = JSON.stringify(sampleEvent('order.created'))

describe('scenarios', () => {
  test('gives a table, of a documented kind and of any other', () => {
    expectTypeOf(scenarios('order.created', { secret })).toEqualTypeOf<Promise<readonly Scenario[]>>()
    expectTypeOf(scenarios('order.refunded', { secret, data: { cents: 1 } })).toEqualTypeOf<
      Promise<readonly Scenario[]>
    >()
    expectTypeOf<Scenario['name']>().toEqualTypeOf<ScenarioName>()
    expectTypeOf<Scenario['verdict']>().toEqualTypeOf<ScenarioVerdict>()
    expectTypeOf<Scenario['deliveries'][number]>().toEqualTypeOf<ScenarioDelivery>()
    expectTypeOf<ScenarioDelivery>().toExtend<TestDelivery>()
    expectTypeOf<ScenarioDelivery['transport']>().toEqualTypeOf<
      'chunked' | 'tiny-chunks' | 'slow' | undefined
    >()
  })

  test('takes the options of the receiver, and any part of the data of a documented kind', () => {
    const { now } = createTestClock()
    scenarios('event.published', { secret: process.env.TIX_SIGNING_SECRET, now, toleranceSeconds: 60 })
    scenarios('event.published', { secret: [secret, new Uint8Array(32)], signature: { header: 'x-tix' } })
    scenarios('order.created', { secret, data: { order: { total_cents: 0 }, tickets: [{ tier: 'VIP' }] } })
    // Complete data, for a kind that is not documented and that the user's own schema describes.
    scenarios('event.published', { secret, data: { title: 'Harbour Jazz' }, exact: true })
    // @ts-expect-error a secret is needed
    scenarios('order.created', {})
    // @ts-expect-error there is no such option
    scenarios('order.created', { secret, timestamp: 1 })
    // @ts-expect-error there is no such algorithm
    scenarios('order.created', { secret, signature: { algorithm: 'MD5' } })
    // @ts-expect-error an amount is a number
    scenarios('order.created', { secret, data: { order: { total_cents: '0' } } })
    // @ts-expect-error a misspelt field
    scenarios('order.created', { secret, data: { order: { total: 0 } } })
    // @ts-expect-error without `exact` it is a part of the sample
    scenarios('event.published', { secret, data: { title: 'Harbour Jazz' } })
  })

  test('can be the refused ones alone', () => {
    const options: ScenarioOptions = { secret, only: 'refused' }
    scenarios('order.created', options)
    scenarios('order.refunded', { ...options, data: { cents: 1 } })
    scenarios('event.published', { ...options, data: { title: 'Harbour Jazz' }, exact: true })
    // @ts-expect-error a scenario is made by makeScenario
    scenarios('order.created', { secret, only: 'stale' })
    // @ts-expect-error it is one already
    makeScenario('stale', { body, secret, only: 'refused' })
  })

  test('are listed, without their deliveries', () => {
    expectTypeOf(SCENARIOS).toEqualTypeOf<readonly ScenarioInfo[]>()
    // @ts-expect-error `make` is private
    SCENARIOS[0]?.make
  })
})

describe('makeScenario', () => {
  test('takes a known name, or any string', () => {
    expectTypeOf(makeScenario('stale', { body, secret })).toEqualTypeOf<Promise<Scenario>>()
    makeScenario(process.argv[2] ?? '', { body: () => body, secret })
    // @ts-expect-error a body is needed
    makeScenario('stale', { secret })
  })

  test('deliver gives the answers that send gives, and gets the way a body is sent', async () => {
    const { deliver } = await makeScenario('chunked', { body, secret })
    expectTypeOf(deliver(({ transport }) => transport)).toEqualTypeOf<
      Promise<(ScenarioTransport | undefined)[]>
    >()
    expectTypeOf(deliver((delivery) => fetch('http://localhost/hooks', delivery))).toEqualTypeOf<
      Promise<Response[]>
    >()
    expectTypeOf(deliver(() => 1)).toEqualTypeOf<Promise<number[]>>()
    expectTypeOf(deliver(async () => 'one')).toEqualTypeOf<Promise<string[]>>()
    const inject = deliver((delivery) => fastify().inject(delivery.toInject('/hooks')))
    expectTypeOf<Awaited<typeof inject>[number]['statusCode']>().toEqualTypeOf<number>()
    const post = deliver(({ headers, body }) => supertest(express()).post('/hooks').set(headers).send(body))
    expectTypeOf<Awaited<typeof post>[number]>().toEqualTypeOf<supertest.Response>()
  })
})
