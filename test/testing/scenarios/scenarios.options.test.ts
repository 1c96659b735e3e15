import type { SignatureOptions } from 'tix-webhooks'
import { createTestClock, type ScenarioOptions, scenarios } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { SECRET } from '../../support/deliveries.js'
import { countingHandler, failing } from '../../support/played-scenarios.js'

/** The scenarios of `order.created` in plain JavaScript, with options that the types would refuse. */
const withOptions = (options: unknown, kind: unknown = 'order.created') =>
  scenarios(kind as 'order.created', options as ScenarioOptions)

const signatures: [string, SignatureOptions][] = [
  ['another header', { header: 'X-Tix-Signature' }],
  [
    'SHA-512, base64, milliseconds and no dot',
    {
      algorithm: 'SHA-512',
      encoding: 'base64',
      timestampUnit: 'ms',
      signedContent: 'concat',
    },
  ],
  [
    'content of a function',
    {
      signedContent: (t, body) => Buffer.concat([Buffer.from(`v1:${t}:`), body]),
    },
  ],
]

describe('a receiver passes all scenarios that have its options:', () => {
  test.each(signatures)('%s', async (_, signature) => {
    const table = await scenarios('order.created', { secret: SECRET, signature })
    expect(await failing(table, countingHandler({ signature }))).toEqual([])
  })

  test.each<[string, ScenarioOptions['secret']]>([
    ['bytes', Uint8Array.of(0, 255, 10, 32, 200)],
    ['several', [SECRET, 'whsec_next']],
    ['one that is another with one character more', ['whsec_a', 'whsec_a1']],
    ['the same the other way round', ['whsec_a1', 'whsec_a']],
    ['bytes and a string', [Buffer.from('whsec_old'), SECRET]],
    ['longer than a block of the hash', 'k'.repeat(200)],
  ])('secrets: %s', async (_, secret) => {
    expect(await failing(await scenarios('order.created', { secret }), countingHandler({ secret }))).toEqual(
      [],
    )
  })

  test.each([0.5, 1, 5, 259_200])('a tolerance of %d s', async (toleranceSeconds) => {
    const { now } = createTestClock('2026-05-17T14:00:00.900Z')
    const table = await scenarios('order.created', { secret: SECRET, toleranceSeconds, now })
    expect(await failing(table, countingHandler({ toleranceSeconds, now }))).toEqual([])
  })

  test('a tolerance in milliseconds of t', async () => {
    const options = { toleranceSeconds: 0.25, signature: { timestampUnit: 'ms' } } as const
    const { now } = createTestClock()
    const table = await scenarios('order.created', { secret: SECRET, now, ...options })
    expect(await failing(table, countingHandler({ now, ...options }))).toEqual([])
  })

  test('an onUnhandled, which gets the events of unknown kinds', async () => {
    const kinds: string[] = []
    const receiver = countingHandler({ onUnhandled: ({ type }) => void kinds.push(type) })
    expect(await failing(await scenarios('event.published', { secret: SECRET }), receiver)).toEqual([])
    expect(kinds).toEqual(['event.published.unheard_of', '__defineGetter__'])
  })
})

describe('a receiver with other options does not:', () => {
  test.each<[string, Partial<ScenarioOptions>]>([
    ['another secret', { secret: 'whsec_of_mine' }],
    ['another tolerance', { toleranceSeconds: 10 }],
    ['another header', { signature: { header: 'x-other' } }],
  ])('%s', async (_, options) => {
    const table = await scenarios('order.created', { secret: SECRET, ...options })
    expect(await failing(table, countingHandler())).not.toEqual([])
  })

  test('another tolerance is seen by the stale and the future delivery alone', async () => {
    const table = await scenarios('order.created', { secret: SECRET, toleranceSeconds: 10 })
    expect(await failing(table, countingHandler())).toEqual(['stale', 'future'])
  })
})

describe('data', () => {
  test('is in every delivery of the kind, with the rest of the sample around it', async () => {
    const tables = await scenarios('order.created', {
      secret: SECRET,
      data: { order: { total_cents: 0, buyer_email: 'zoë@example.com' }, tickets: [{ tier: 'VIP' }, {}] },
    })
    const genuine = tables.find(({ name }) => name === 'duplicate')?.deliveries[0]
    const { order, tickets } = JSON.parse(genuine?.body ?? '').data
    expect(order).toEqual({
      id: expect.stringMatching(/^ord_/),
      total_cents: 0,
      buyer_email: 'zoë@example.com',
    })
    expect(tickets).toMatchObject([{ tier: 'VIP' }, { id: expect.stringMatching(/^tik_/) }])
    expect(await failing(tables, countingHandler())).toEqual([])
  })

  test('of an event can be given whole, for a receiver with a schema of its own', async () => {
    const data = { title: 'Harbour Jazz', order: { id: 'of no matter here' } }
    const table = await scenarios('event.published', { secret: SECRET, exact: true, data })
    expect(JSON.parse(table[0]?.deliveries[0]?.body ?? '').data).toEqual(data)
    expect(await failing(table, countingHandler())).toEqual([])
  })

  test('of each order that must run has an id of its own, also in another table', async () => {
    const tables = [
      ...(await scenarios('order.created', { secret: SECRET })),
      ...(await scenarios('order.created', { secret: SECRET })),
    ]
    const runs = tables.reduce((sum, scenario) => sum + scenario.expect.runs, 0)
    const ids = tables
      .filter(({ verdict }) => verdict === 'genuine')
      .flatMap(({ deliveries }) => deliveries.map(({ body }) => JSON.parse(body).data.order.id))
    expect(new Set(ids).size).toBe(runs)
  })
})

describe('a mistake in the options is a TypeError that says which:', () => {
  test.each<[string, unknown, RegExp]>([
    [
      'none at all',
      undefined,
      /^options must be an object of secret, signature, now, toleranceSeconds, data/,
    ],
    ['no secret', {}, /^secret is undefined: pass the signing secret/],
    ['an empty secret', { secret: '' }, /^secret is empty/],
    ['a secret with a new line', { secret: 'whsec_a\n' }, /^secret begins or ends with white space/],
    [
      'a misspelt option',
      { secret: SECRET, tolerance: 5 },
      /^There is no option tolerance\. The options are secret/,
    ],
    ['a tolerance of 0', { secret: SECRET, toleranceSeconds: 0 }, /^toleranceSeconds must be/],
    ['a now that is a number', { secret: SECRET, now: 1 }, /^now must be a function/],
    ['an order id', { secret: SECRET, data: { order: { id: 'ord_1' } } }, /^data\.order\.id cannot be set/],
    ['data that is null', { secret: SECRET, data: null }, /^data must be .*object, not null/],
    ['an only of another name', { secret: SECRET, only: 'stale' }, /^only must be "refused".*, not "stale"/],
    ['an exact that is no boolean', { secret: SECRET, exact: 1 }, /^exact must be true or false/],
  ])('%s', async (_, options, message) => {
    const made = withOptions(options)
    await expect(made).rejects.toThrow(TypeError)
    await expect(made).rejects.toThrow(message)
  })
})

test('a seed fixes the list, and without one each is new', async () => {
  const { now } = createTestClock()
  const bodiesOf = async (options: object) =>
    (await scenarios('order.created', { secret: SECRET, now, ...options })).flatMap(({ name, deliveries }) =>
      deliveries.map(({ body }) => `${name} ${body}`),
    )
  const [first, again, other, fresh] = [
    await bodiesOf({ seed: 7 }),
    await bodiesOf({ seed: 7 }),
    await bodiesOf({ seed: 4_294_967_295 }),
    await bodiesOf({}),
  ]
  expect(again).toEqual(first)
  const unlike = (bodies: readonly string[]) => bodies.filter((body) => !first.includes(body)).length
  expect(unlike(other)).toBeGreaterThan(20)
  expect(unlike(fresh)).toBeGreaterThan(20)
  await expect(bodiesOf({ seed: -1 })).rejects.toThrow('seed must be a whole number')
})
