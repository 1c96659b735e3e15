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
  test.each(SCENARIOS)('is $name, with what the table says of it', async (info) => {
    const made = await makeScenario(info.name, { body: published(), secret: SECRET })
    const { deliveries, deliver, ...told } = made
    const { suits, make, ...said } = info as typeof info & { make: unknown }
    expect([told, deliveries.length > 0, typeof deliver]).toEqual([said, true, 'function'])
  })

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

  test('whose date begins with 1 is tampered with all the same', async () => {
    const body = JSON.stringify(sampleEvent('order.created', { at: '1999-12-31T23:59:59Z' }))
    const { deliveries } = await makeScenario('tampered-byte', { body, secret: SECRET })
    expect(deliveries.map((delivery) => delivery.body)).not.toContain(body)
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
    ['a body that is null', { secret: SECRET, body: 'null' }, /^body must be the JSON of a genuine event/],
    [
      'an event without a type',
      { secret: SECRET, body: '{"created_at":"2026-05-17T14:02:11Z"}' },
      /with a type/,
    ],
    ['an event without a date', { secret: SECRET, body: '{"type":"a","data":{}}' }, /a created_at/],
    ['no secret', { body: ordered() }, /^secret is undefined: pass the signing secret/],
    ['an empty secret', { body: ordered(), secret: '' }, /^secret is empty/],
    [
      'a misspelt option',
      { body: ordered(), secret: SECRET, tolerance: 5 },
      /^There is no option tolerance\./,
    ],
    [
      'a tolerance of 0',
      { body: ordered(), secret: SECRET, toleranceSeconds: 0 },
      /^toleranceSeconds must be/,
    ],
    ['a now that is a number', { body: ordered(), secret: SECRET, now: 1 }, /^now must be a function/],
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
