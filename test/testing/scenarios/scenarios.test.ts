import { inspect } from 'node:util'
import { tixWebhooks } from 'tix-webhooks/fetch'
import {
  createTestClock,
  makeScenario,
  SCENARIOS,
  type Scenario,
  type ScenarioName,
  type ScenarioOptions,
  type ScenarioSource,
  sampleEvent,
  scenarios,
} from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { SECRET } from '../../support/deliveries.js'
import { countingHandler, failing, PLAYED_KINDS } from '../../support/played-scenarios.js'

const GENUINE = ['genuine', [200], 1]
const FORGED = ['forged', [401], 0]

/** The statuses of the contract: 400 is malformed, 401 unauthenticated, 500 unprocessable, 503 in flight. */
const EXPECTED: Record<ScenarioName, unknown[]> = {
  valid: GENUINE,
  whitespace: GENUINE,
  unicode: GENUINE,
  'extra-fields': GENUINE,
  thin: GENUINE,
  large: GENUINE,
  'two-v1': GENUINE,
  reordered: ['genuine', [200], 3],
  tied: ['genuine', [200], 2],
  chunked: GENUINE,
  'tiny-chunks': GENUINE,
  'slow-body': GENUINE,
  'missing-header': ['forged', [400], 0],
  'malformed-header': ['forged', [400], 0],
  'tampered-byte': FORGED,
  're-serialised-body': FORGED,
  'wrong-secret': FORGED,
  stale: FORGED,
  future: FORGED,
  truncated: FORGED,
  'other-endpoints-secret': FORGED,
  'empty-body': FORGED,
  'not-json': ['unusable', [500], 0],
  'not-an-envelope': ['unusable', [500], 0],
  duplicate: GENUINE,
  'concurrent-burst': ['genuine', [200, 503], 1],
  'unknown-kind': ['unknown', [200], 0],
}

const ALL = Object.entries(EXPECTED)
const contractOf = (table: readonly Pick<Scenario, 'name' | 'verdict' | 'expect'>[]) =>
  table.map(({ name, verdict, expect: { statuses, runs } }) => [name, [verdict, statuses, runs]])

/** The scenarios of `order.created` in plain JavaScript, with options that the types would refuse. */
const withOptions = (options: unknown) => scenarios('order.created', options as ScenarioOptions)

describe('the table', () => {
  test('has the names, the verdicts, the statuses and the runs of the contract', () => {
    expect(contractOf(SCENARIOS)).toEqual(ALL)
  })

  test.each(PLAYED_KINDS)('of %s is played whole, but for what the kind cannot be', async (kind, make) => {
    const expected = kind === 'event.published' ? ALL : ALL.filter(([name]) => name !== 'thin')
    expect(contractOf(await make({ secret: SECRET }))).toEqual(expected)
    const refused = await make({ secret: SECRET, only: 'refused' })
    const due = ALL.filter(([, [verdict]]) => verdict === 'forged' || verdict === 'unusable')
    expect(contractOf(refused)).toEqual(due)
    for (const { deliveries } of refused) expect(deliveries.length).toBeGreaterThan(0)
  })

  test('sends one after the other, except the burst, which is sent at once, and returns the answers in order', async () => {
    const most: Record<string, number> = {}
    const table = await scenarios('event.published', { secret: SECRET })
    for (const { name, deliver, deliveries, isBurst } of table) {
      let underWay = 0
      most[name] = 0
      const answers = await deliver(async (delivery) => {
        underWay += 1
        most[name] = Math.max(most[name] ?? 0, underWay)
        await new Promise(setImmediate)
        underWay -= 1
        return delivery
      })
      expect(answers).toEqual(deliveries)
      expect(isBurst).toBe(name === 'concurrent-burst')
    }
    expect(most).toEqual(
      Object.fromEntries(ALL.map(([name]) => [name, name === 'concurrent-burst' ? 12 : 1])),
    )
  })

  test.each([SECRET, [Buffer.from('whsec_old'), SECRET]])(
    'holds no secret, whatever of it is looked at',
    async (secret) => {
      const all = await scenarios('order.created', { secret })
      // Its 512 KiB would take inspect a second, and are made as the others are.
      const table = all.filter(({ name }) => name !== 'large')
      const seen = inspect(table, { depth: Number.POSITIVE_INFINITY, showHidden: true, maxArrayLength: null })
      expect(seen).toContain('concurrent-burst')
      const byte = inspect(Buffer.from(SECRET)).slice(8, 40)
      for (const form of [SECRET, SECRET.slice(0, 8), byte, 'whsec_old']) expect(seen).not.toContain(form)
    },
  )
})

const { now } = createTestClock('2026-05-17T14:00:00.900Z')

describe('a receiver passes all scenarios that have its options:', () => {
  test.each<[string, Partial<ScenarioOptions>]>([
    [
      'SHA-512, base64, milliseconds and no dot',
      {
        signature: {
          algorithm: 'SHA-512',
          encoding: 'base64',
          timestampUnit: 'ms',
          signedContent: 'concat',
        },
      },
    ],
    [
      'content of a function',
      { signature: { signedContent: (t, body) => Buffer.concat([Buffer.from(`v1:${t}:`), body]) } },
    ],
    ['a secret of bytes', { secret: Uint8Array.of(0, 255, 10, 32, 200) }],
    ['a secret that is another with one character more', { secret: ['whsec_a', 'whsec_a1'] }],
    ['a secret longer than a block of the hash', { secret: 'k'.repeat(200) }],
    [
      'as many secrets as a header has signatures',
      { secret: Array.from({ length: 16 }, (_, i) => `whsec_${i}`) },
    ],
    ['a tolerance of half a second', { toleranceSeconds: 0.5 }],
    ['a tolerance in milliseconds of t', { toleranceSeconds: 0.25, signature: { timestampUnit: 'ms' } }],
  ])('%s', async (_, options) => {
    const table = await withOptions({ secret: SECRET, now, ...options })
    const receiver = countingHandler({ now, ...options } as object)
    expect(await failing(table, receiver)).toEqual([])
  })

  test('another tolerance is seen by the stale and the future delivery alone', async () => {
    const table = await withOptions({ secret: SECRET, toleranceSeconds: 10 })
    expect(await failing(table, countingHandler())).toEqual(['stale', 'future'])
  })
})

test('events of your own are in every delivery of the kind, for a receiver with a schema of its own', async () => {
  const data = { title: 'Harbour Jazz', order: { id: 'of no matter here' } }
  const body = () => JSON.stringify({ ...sampleEvent('event.published'), data })
  const table = await scenarios('event.published', { secret: SECRET, body })
  expect(JSON.parse(table[0]?.deliveries[0]?.body ?? '').data).toEqual(data)
  // That needs the id of an event.
  expect(table.map(({ name }) => name)).not.toContain('thin')
  expect(await failing(table, countingHandler())).toEqual([])
})

test('a kind without samples needs a body, and one of that kind', async () => {
  await expect(scenarios('order.refunded' as 'order.created', { secret: SECRET })).rejects.toThrow(
    'body is missing: there are no samples of "order.refunded"',
  )
  await expect(scenarios('order.refunded', { secret: SECRET, body: ordered })).rejects.toThrow(
    'body must be the JSON of an event of kind order.refunded, not "order.created"',
  )
})

test.each<[unknown, RegExp]>([
  [undefined, /^options must be an object of secret, signature, now, toleranceSeconds, body/],
  [{}, /^secret is undefined: pass the signing secret/],
  [{ secret: SECRET, tolerance: 5 }, /^There is no option tolerance\. The options are/],
  [{ secret: SECRET, toleranceSeconds: 0 }, /^toleranceSeconds must be/],
  [{ secret: SECRET, now: 1 }, /^now must be a function/],
  [{ secret: SECRET, data: {} }, /^There is no option data\./],
  [{ secret: SECRET, only: 'stale' }, /^only must be "refused".*, not "stale"/],
])('the options %o are refused', async (options, message) => {
  const made = withOptions(options)
  await expect(made).rejects.toThrow(TypeError)
  await expect(made).rejects.toThrow(message)
})

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
  test('sends the first that its source returns: there may be no other', async () => {
    const source = [ordered()]
    const { deliveries } = await makeScenario('valid', {
      body: () => source.pop() as string,
      secret: SECRET,
    })
    expect(deliveries).toHaveLength(1)
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
