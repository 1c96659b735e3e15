import { tixWebhooks } from 'tix-webhooks/fetch'
import {
  createTestClock,
  makeScenario,
  SCENARIOS,
  type ScenarioSource,
  sampleEvent,
  scenarios,
} from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { SECRET } from '../../support/deliveries.js'
import { countingHandler, failing } from '../../support/played-scenarios.js'

const published = () => JSON.stringify(sampleEvent('event.published'))
const ordered = () => JSON.stringify(sampleEvent('order.created'))

describe('a scenario of one event', () => {
  test('is withstood by our receiver, whatever the secrets, the scheme and the clock', async () => {
    const { now } = createTestClock('2031-01-01T00:00:00Z')
    const signature = { algorithm: 'SHA-512', encoding: 'base64', signedContent: 'concat' } as const
    const secret = ['whsec_new', 'whsec_old']
    const receiver = countingHandler({ secret, signature, now, toleranceSeconds: 60 })
    for (const { name } of SCENARIOS) {
      const source = { body: published, secret, signature, now, toleranceSeconds: 60 }
      expect(await failing([await makeScenario(name, source)], receiver)).toEqual([])
    }
  })

  test('that is genuine runs once where its body is always the same, if it runs at all', async () => {
    const body = ordered()
    const runs: string[] = []
    const on = {
      'order.created': (event: { data: { order: { id: string } } }) => void runs.push(event.data.order.id),
    }
    const POST = tixWebhooks({ secret: SECRET, on, onError: () => {} })
    for (const { name, verdict, suits } of SCENARIOS) {
      if (verdict !== 'genuine' || !suits(JSON.parse(body))) continue
      const { deliver } = await makeScenario(name, { body, secret: SECRET })
      const answers = await deliver((delivery) => POST(delivery.toRequest('/hooks')))
      expect([name, ...new Set(answers.map(({ status }) => status))]).toEqual([name, 200])
    }
    expect(runs).toEqual([JSON.parse(body).data.order.id])
  })

  test('sends each event of its source, the first one too', async () => {
    const bodies = [published(), published(), published()]
    const source = { body: () => bodies.shift() ?? '', secret: SECRET }
    const [later, earlier, tied] = [...bodies]
    const { deliveries } = await makeScenario('reordered', source)
    const ids = [...deliveries.map(({ body }) => body), later, earlier, tied].map(
      (body) => JSON.parse(body ?? '').data.event.id,
    )
    expect(ids.slice(0, 3)).toEqual(ids.slice(3))
  })
})

test('thin suits what has the id of an event, and nothing else', async () => {
  const thin = SCENARIOS.find(({ name }) => name === 'thin')
  const suits = (type: string, data: unknown) => thin?.suits({ type, data })
  expect(suits('event.published', { event: { id: 'evt_1' } })).toBe(true)
  for (const data of [null, [], 'evt_1', {}, { event: null }, { event: 'evt_1' }, { event: { id: 1 } }]) {
    expect(suits('event.published', data)).toBe(false)
  }
  expect(suits('order.created', { event: { id: 'evt_1' } })).toBe(false)
  const table = await scenarios('event.published', {
    secret: SECRET,
    exact: true,
    data: { title: 'Harbour Jazz' },
  })
  expect(table.map(({ name }) => name)).not.toContain('thin')
  await expect(makeScenario('thin', { body: ordered(), secret: SECRET })).rejects.toThrow(
    /^There is no thin of this order\.created: it needs an event\.\* whose data\.event\.id is a string\.$/,
  )
})

describe('a mistake is a TypeError that says which:', () => {
  test.each<[string, unknown, RegExp]>([
    ['no source', undefined, /^options must be an object of body, secret/],
    ['no body', { secret: SECRET }, /^body must be a string, the JSON of an event, not undefined/],
    ['a body that is parsed', { secret: SECRET, body: {} }, /^body must be a string.*not an object/],
    ['a body that is no JSON', { secret: SECRET, body: 'x' }, /^body must be the JSON of a genuine event/],
    [
      'an event without a type',
      { secret: SECRET, body: '{"created_at":"2026-05-17T14:02:11Z"}' },
      /with a type/,
    ],
    ['no secret', { body: ordered() }, /^secret is undefined: pass the signing secret/],
    [
      'a misspelt option',
      { body: ordered(), secret: SECRET, tolerance: 5 },
      /^There is no option tolerance\./,
    ],
  ])('%s', async (_, source, message) => {
    for (const name of ['wrong-secret', 'two-v1', 'reordered']) {
      const made = makeScenario(name, source as ScenarioSource)
      await expect(made).rejects.toThrow(TypeError)
      await expect(made).rejects.toThrow(message)
    }
  })

  test.each(['tampered byte', 'constructor', '', undefined])('the scenario %j', async (name) => {
    const made = makeScenario(name as string, { body: ordered(), secret: SECRET })
    await expect(made).rejects.toThrow(
      /^There is no scenario .*\. The scenarios are valid, whitespace, .*unknown-kind\.$/,
    )
  })

  test('an order id that is set', async () => {
    const options = { secret: SECRET, data: { order: { id: 'ord_1' } } }
    await expect(scenarios('order.created', options)).rejects.toThrow(/^data\.order\.id cannot be set/)
  })
})
