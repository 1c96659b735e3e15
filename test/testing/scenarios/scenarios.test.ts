import { inspect } from 'node:util'
import {
  createTestClock,
  SCENARIOS,
  type Scenario,
  type ScenarioName,
  type ScenarioOptions,
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

  test('is fixed by a seed, and without one each is new', async () => {
    const { now } = createTestClock()
    const bodiesOf = async (options: object) =>
      (await withOptions({ secret: SECRET, now, ...options })).flatMap(({ name, deliveries }) =>
        deliveries.map(({ body }) => `${name} ${body}`),
      )
    const first = await bodiesOf({ seed: 7 })
    expect(await bodiesOf({ seed: 7 })).toEqual(first)
    for (const options of [{ seed: 4_294_967_295 }, {}]) {
      const unlike = (await bodiesOf(options)).filter((body) => !first.includes(body))
      expect(unlike.length).toBeGreaterThan(20)
    }
    await expect(bodiesOf({ seed: -1 })).rejects.toThrow('seed must be a whole number')
  })
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

describe('data', () => {
  test('is in every delivery of the kind, with the rest of the sample around it', async () => {
    const data = { order: { total_cents: 0, buyer_email: 'zoë@example.com' }, tickets: [{ tier: 'VIP' }, {}] }
    const table = await withOptions({ secret: SECRET, data })
    const genuine = table.find(({ name }) => name === 'duplicate')?.deliveries[0]
    const { order, tickets } = JSON.parse(genuine?.body ?? '').data
    expect(order).toEqual({ id: expect.stringMatching(/^ord_/), ...data.order })
    expect(tickets).toMatchObject([{ tier: 'VIP' }, { id: expect.stringMatching(/^tik_/) }])
    expect(await failing(table, countingHandler())).toEqual([])
  })

  test('of an event can be given whole, for a receiver with a schema of its own', async () => {
    const data = { title: 'Harbour Jazz', order: { id: 'of no matter here' } }
    const table = await scenarios('event.published', { secret: SECRET, exact: true, data })
    expect(JSON.parse(table[0]?.deliveries[0]?.body ?? '').data).toEqual(data)
    // That needs the id of an event.
    expect(table.map(({ name }) => name)).not.toContain('thin')
    expect(await failing(table, countingHandler())).toEqual([])
  })
})

test.each<[unknown, RegExp]>([
  [undefined, /^options must be an object of secret, signature, now, toleranceSeconds, data/],
  [{}, /^secret is undefined: pass the signing secret/],
  [{ secret: SECRET, tolerance: 5 }, /^There is no option tolerance\. The options are/],
  [{ secret: SECRET, toleranceSeconds: 0 }, /^toleranceSeconds must be/],
  [{ secret: SECRET, now: 1 }, /^now must be a function/],
  [{ secret: SECRET, data: { order: { id: 'ord_1' } } }, /^data\.order\.id cannot be set/],
  [{ secret: SECRET, data: null }, /^data must be .*object, not null/],
  [{ secret: SECRET, only: 'stale' }, /^only must be "refused".*, not "stale"/],
])('the options %o are refused', async (options, message) => {
  const made = withOptions(options)
  await expect(made).rejects.toThrow(TypeError)
  await expect(made).rejects.toThrow(message)
})
