import type { SignatureOptions } from 'tix-webhooks'
import { type AttackOptions, attacks, createTestClock } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { ATTACKED_KINDS, attackedHandler, played, succeeding } from '../../support/attacked.js'
import { SECRET } from '../../support/deliveries.js'

/** The table of `order.created` in plain JavaScript, with options that the types would refuse. */
const withOptions = (options: unknown, kind: unknown = 'order.created') =>
  attacks(kind as 'order.created', options as AttackOptions)

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
  ['SHA-256 in base64', { encoding: 'base64' }],
  [
    'content of a function',
    {
      signedContent: (t, body) => Buffer.concat([Buffer.from(`v1:${t}:`), body]),
    },
  ],
]

describe('a receiver withstands all attacks that have its options:', () => {
  test.each(signatures)('%s', async (_, signature) => {
    const table = await attacks('order.created', { secret: SECRET, signature })
    expect(await succeeding(table, attackedHandler({ signature }))).toEqual([])
  })

  test.each<[string, AttackOptions['secret']]>([
    ['bytes', Uint8Array.of(0, 255, 10, 32, 200)],
    ['several', [SECRET, 'whsec_next']],
    ['one that is another with one character more', ['whsec_a', 'whsec_a1']],
    ['the same the other way round', ['whsec_a1', 'whsec_a']],
    ['bytes and a string', [Buffer.from('whsec_old'), SECRET]],
    ['longer than a block of the hash', 'k'.repeat(200)],
  ])('secrets: %s', async (_, secret) => {
    expect(await succeeding(await attacks('order.created', { secret }), attackedHandler({ secret }))).toEqual(
      [],
    )
  })

  test.each([0.5, 1, 5, 259_200])('a tolerance of %d s', async (toleranceSeconds) => {
    const { now } = createTestClock('2026-05-17T14:00:00.900Z')
    const table = await attacks('order.created', { secret: SECRET, toleranceSeconds, now })
    expect(await succeeding(table, attackedHandler({ toleranceSeconds, now }))).toEqual([])
  })

  test('a tolerance in milliseconds of t', async () => {
    const options = { toleranceSeconds: 0.25, signature: { timestampUnit: 'ms' } } as const
    const { now } = createTestClock()
    const table = await attacks('order.created', { secret: SECRET, now, ...options })
    expect(await succeeding(table, attackedHandler({ now, ...options }))).toEqual([])
  })

  test('a clock that stands still, long ago', async () => {
    const { now } = createTestClock('1999-12-31T23:59:59Z')
    expect(
      await succeeding(await attacks('order.created', { secret: SECRET, now }), attackedHandler({ now })),
    ).toEqual([])
  })

  test('an onUnhandled, which gets the events of unknown kinds', async () => {
    const kinds: string[] = []
    const receiver = attackedHandler({ onUnhandled: ({ type }) => void kinds.push(type) })
    expect(await succeeding(await attacks('event.published', { secret: SECRET }), receiver)).toEqual([])
    expect(kinds).toEqual(['event.published.unheard_of', '__defineGetter__'])
  })
})

describe('a receiver with other options does not:', () => {
  test.each<[string, Partial<AttackOptions>]>([
    ['another secret', { secret: 'whsec_of_mine' }],
    ['another tolerance', { toleranceSeconds: 10 }],
    ['another header', { signature: { header: 'x-other' } }],
  ])('%s', async (_, options) => {
    const table = await attacks('order.created', { secret: SECRET, ...options })
    expect(await succeeding(table, attackedHandler())).not.toEqual([])
  })

  test('another tolerance is seen by the stale and the future delivery alone', async () => {
    const table = await attacks('order.created', { secret: SECRET, toleranceSeconds: 10 })
    expect(await succeeding(table, attackedHandler())).toEqual(['stale', 'future'])
  })
})

describe('one receiver and one store', () => {
  test('withstand them all at once', async () => {
    const receiver = attackedHandler()
    const tables = await Promise.all(ATTACKED_KINDS.map(([, make]) => make({ secret: SECRET })))
    await Promise.all(tables.flat().map((attack) => played(attack, receiver)))
    expect(receiver.runs()).toBe(2 * ATTACKED_KINDS.length)
  })
})

describe('data', () => {
  test('is in every delivery of the kind, with the rest of the sample around it', async () => {
    const tables = await attacks('order.created', {
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
    expect(await succeeding(tables, attackedHandler())).toEqual([])
  })

  test('of an event can be given whole, for a receiver with a schema of its own', async () => {
    const data = { title: 'Harbour Jazz', order: { id: 'of no matter here' } }
    const table = await attacks('event.published', { secret: SECRET, exact: true, data })
    expect(JSON.parse(table[0]?.deliveries[0]?.body ?? '').data).toEqual(data)
    expect(await succeeding(table, attackedHandler())).toEqual([])
  })

  test('of each order that must run has an id of its own, also in another table', async () => {
    const tables = [
      ...(await attacks('order.created', { secret: SECRET })),
      ...(await attacks('order.created', { secret: SECRET })),
    ]
    const ids = tables
      .filter(({ expect: { runs } }) => runs === 1)
      .map(({ deliveries: [delivery] }) => JSON.parse(delivery?.body ?? '').data.order.id)
    expect(ids).toHaveLength(4)
    expect(new Set(ids).size).toBe(4)
  })
})

describe('a mistake in the options is a TypeError that says which:', () => {
  test.each<[string, unknown, RegExp]>([
    [
      'none at all',
      undefined,
      /^options must be an object of secret, signature, now, toleranceSeconds, data/,
    ],
    ['null', null, /^options must be an object/],
    ['no secret', {}, /^secret is undefined: pass the signing secret/],
    ['an empty secret', { secret: '' }, /^secret is empty/],
    ['a secret with a new line', { secret: 'whsec_a\n' }, /^secret begins or ends with white space/],
    ['no secrets', { secret: [] }, /^secret: the list of secrets is empty/],
    ['an empty secret among them', { secret: ['a', ''] }, /^secret\[1\] is empty/],
    [
      'a misspelt option',
      { secret: SECRET, tolerance: 5 },
      /^There is no option tolerance\. The options are secret/,
    ],
    ['an option of signedDelivery', { secret: SECRET, timestamp: 1 }, /^There is no option timestamp\./],
    ['a tolerance of 0', { secret: SECRET, toleranceSeconds: 0 }, /^toleranceSeconds must be/],
    ['a tolerance of null', { secret: SECRET, toleranceSeconds: null }, /^toleranceSeconds must be/],
    ['a now that is a number', { secret: SECRET, now: 1 }, /^now must be a function/],
    [
      'a misspelt option of signature',
      { secret: SECRET, signature: { encode: 'hex' } },
      /^There is no option signature\.encode/,
    ],
    ['a signature that is null', { secret: SECRET, signature: null }, /^signature must be an object/],
    [
      'an algorithm there is not',
      { secret: SECRET, signature: { algorithm: 'MD5' } },
      /^signature\.algorithm must be/,
    ],
    ['an order id', { secret: SECRET, data: { order: { id: 'ord_1' } } }, /^data\.order\.id cannot be set/],
    [
      'a misspelt field',
      { secret: SECRET, data: { order: { total: 1 } } },
      /^There is no field data\.order\.total/,
    ],
    [
      'a negative amount',
      { secret: SECRET, data: { order: { total_cents: -1 } } },
      /^data\.order\.total_cents must be/,
    ],
    ['data that is null', { secret: SECRET, data: null }, /^data must be .*object, not null/],
    ['data that is 0', { secret: SECRET, data: 0 }, /^data must be .*object, not a number/],
    ['an exact that is no boolean', { secret: SECRET, exact: 1 }, /^exact must be true or false/],
  ])('%s', async (_, options, message) => {
    const made = withOptions(options)
    await expect(made).rejects.toThrow(TypeError)
    await expect(made).rejects.toThrow(message)
  })

  test.each([null, '', 7])('the kind %s', async (kind) => {
    await expect(withOptions({ secret: SECRET }, kind)).rejects.toThrow(/^kind must be a kind of event/)
  })
})
