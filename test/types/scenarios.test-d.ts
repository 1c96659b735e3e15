import {
  makeScenario,
  SCENARIOS,
  type Scenario,
  type ScenarioDelivery,
  type ScenarioInfo,
  type ScenarioName,
  sampleEvent,
  scenarios,
  type TestDelivery,
  type Transport,
  type Verdict,
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
    expectTypeOf<Scenario['verdict']>().toEqualTypeOf<Verdict>()
    expectTypeOf<Scenario['deliveries'][number]>().toEqualTypeOf<ScenarioDelivery>()
    expectTypeOf<ScenarioDelivery>().toExtend<TestDelivery>()
    expectTypeOf<ScenarioDelivery['transport']>().toEqualTypeOf<
      'chunked' | 'tiny-chunks' | 'slow' | undefined
    >()
  })

  test('takes the options of the receiver, and any part of the data of a documented kind', () => {
    scenarios('event.published', { secret: process.env.TIX_SIGNING_SECRET, toleranceSeconds: 60 })
    scenarios('order.created', { secret, data: { order: { total_cents: 0 } } })
    scenarios('event.published', { secret, data: { title: 'Harbour Jazz' }, exact: true })
    // @ts-expect-error a secret is needed
    scenarios('order.created', {})
    // @ts-expect-error a misspelt field
    scenarios('order.created', { secret, data: { order: { total: 0 } } })
    // @ts-expect-error without `exact` it is a part of the sample
    scenarios('event.published', { secret, data: { title: 'Harbour Jazz' } })
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
    expectTypeOf(deliver(({ transport }) => transport)).toEqualTypeOf<Promise<(Transport | undefined)[]>>()
    expectTypeOf(deliver((delivery) => fetch('http://localhost/hooks', delivery))).toEqualTypeOf<
      Promise<Response[]>
    >()
  })
})
