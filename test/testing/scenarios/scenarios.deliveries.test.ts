import { tixWebhooks } from 'tix-webhooks/fetch'
import {
  createTestClock,
  makeScenario,
  SCENARIOS,
  type ScenarioName,
  type ScenarioSource,
  sampleEvent,
  scenarios,
} from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { SECRET } from '../../support/deliveries.js'

const { now } = createTestClock()
const table = await scenarios('order.created', { secret: SECRET, now })

const deliveriesOf = (name: ScenarioName) => table.find((one) => one.name === name)?.deliveries ?? []

// Which fault each of them shows: test/testing/mutants.test.ts.
test.each<[ScenarioName, number]>([
  ['whitespace', 2],
  ['malformed-header', 14],
  ['tampered-byte', 4],
  ['truncated', 6],
  ['not-an-envelope', 9],
])('%s has all its variants: %i', (name, count) => {
  expect(new Set(deliveriesOf(name).map(({ header, body }) => `${header} ${body}`)).size).toBe(count)
})

test('the reordered deliveries of one event have three times', async () => {
  const body = JSON.stringify(sampleEvent('order.created', { at: '2026-05-17T14:02:11.001Z' }))
  const { deliveries } = await makeScenario('reordered', { body, secret: SECRET })
  expect(deliveries.map((delivery) => JSON.parse(delivery.body).created_at)).toEqual([
    '2026-05-17T14:02:11.001Z',
    '2026-05-17T14:01:41.001Z',
    // The same order again at the same time would be a duplicate.
    '2026-05-17T14:01:56.001Z',
  ])
})

test('no two events of the table happened at the same time: on data that is given whole, that alone tells them apart', async () => {
  const data = { of: 'all' }
  const played = await scenarios('order.refunded', { secret: SECRET, data })
  const genuine = played.filter(({ verdict, name }) => verdict === 'genuine' && name !== 'reordered')
  const times = genuine.map(({ deliveries: [first] }) => JSON.parse(first?.body ?? '').created_at)
  const [later, earlier] = (played.find(({ name }) => name === 'reordered')?.deliveries ?? []).map(
    ({ body }) => JSON.parse(body).created_at,
  )
  expect(new Set([...times, later, earlier.replace('.000Z', 'Z')]).size).toBe(times.length + 2)
})

test.each([
  ['chunked', 'chunked', 7],
  ['tiny-chunks', 'tiny-chunks', undefined],
  ['slow-body', 'slow', 7],
] as const)(
  'a %s delivery has the whole body, and a request with a part of it at a time',
  async (name, transport, parts) => {
    const [delivery, ...more] = deliveriesOf(name)
    expect([delivery?.transport, more]).toEqual([transport, []])
    const request = delivery?.toRequest('/hooks')
    expect(Object.fromEntries(request?.headers ?? [])).toEqual(delivery?.headers)
    expect(request?.url).toBe('http://localhost/hooks')
    const chunks: Uint8Array[] = []
    for await (const chunk of request?.body ?? []) chunks.push(chunk)
    expect(Buffer.concat(chunks).toString()).toBe(delivery?.body)
    expect(chunks).toHaveLength(parts ?? Buffer.byteLength(delivery?.body ?? ''))
  },
)

test('whatever has an id or a date has one of its own, in each list and in each process', async () => {
  const again = await scenarios('order.created', { secret: SECRET, now })
  const ids = [...table, ...again]
    .filter(({ name }) => name === 'unknown-kind' || name === 'not-an-envelope')
    .flatMap(({ deliveries }) => deliveries.map(({ body }) => JSON.parse(body)))
    .flatMap((event) => event?.data?.order?.id ?? event?.created_at ?? [])
  expect(ids).toHaveLength(2 * (2 + 5))
  expect(new Set(ids).size).toBe(ids.length)
  // Samples of a seed are the same in each process, and eight digits long.
  expect(ids.every((id) => /^ord_\w{16}$|Z$/.test(id))).toBe(true)
})

const ordered = () => JSON.stringify(sampleEvent('order.created'))

describe('a scenario of one event', () => {
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
})

test('thin suits what has the id of an event, and nothing else', async () => {
  const thin = SCENARIOS.find(({ name }) => name === 'thin')
  const suits = (type: string, data: unknown) => thin?.suits({ type, data })
  expect(suits('event.published', { event: { id: 'evt_1' } })).toBe(true)
  for (const data of [null, [], 'evt_1', {}, { event: null }, { event: 'evt_1' }, { event: { id: 1 } }]) {
    expect(suits('event.published', data)).toBe(false)
  }
  expect(suits('order.created', { event: { id: 'evt_1' } })).toBe(false)
  await expect(makeScenario('thin', { body: ordered(), secret: SECRET })).rejects.toThrow(
    /^There is no thin of this order\.created: it needs an event\.\* whose data\.event\.id is a string\.$/,
  )
})

describe('a mistake is a TypeError that says which:', () => {
  test.each<[unknown, RegExp]>([
    [undefined, /^options must be an object of body, secret/],
    [{ secret: SECRET }, /^body must be a string, the JSON of an event, not undefined/],
    [{ secret: SECRET, body: {} }, /^body must be a string.*not an object/],
    [{ secret: SECRET, body: 'x' }, /^body must be the JSON of a genuine event/],
    [{ secret: SECRET, body: '{"created_at":"2026-05-17T14:02:11Z"}' }, /with a type/],
    [{ body: ordered() }, /^secret is undefined: pass the signing secret/],
    [{ body: ordered(), secret: SECRET, tolerance: 5 }, /^There is no option tolerance\./],
  ])('%o', async (source, message) => {
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
})
