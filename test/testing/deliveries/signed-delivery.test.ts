import { inspect } from 'node:util'
import fc from 'fast-check'
import { type SignatureOptions, verifySignature, verifyWebhook } from 'tix-webhooks'
import {
  createTestClock,
  type SignedBody,
  type SigningOptions,
  signedBody,
  signedDelivery,
} from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { SECRET } from '../../support/deliveries.js'

const secret = SECRET
const NOW_MS = Date.UTC(2026, 4, 17, 14, 0, 0, 750)
const now = () => NOW_MS
const NOW_SECONDS = Math.floor(NOW_MS / 1000)

const t = ({ header }: SignedBody<string | Uint8Array>) => /^t=(\d+),/.exec(header)?.[1]
const seconds = (value: number) => String(value)

const joined = (stamp: string, body: Uint8Array) => Buffer.concat([Buffer.from(`${stamp}|`), body])

const SCHEMES: [string, SignatureOptions][] = (['SHA-256', 'SHA-512'] as const).flatMap((algorithm) =>
  (['hex', 'base64'] as const).flatMap((encoding) =>
    (['dot', 'concat', joined] as const).flatMap((signedContent) =>
      (['s', 'ms'] as const).map((timestampUnit): [string, SignatureOptions] => [
        [
          algorithm,
          encoding,
          typeof signedContent === 'function' ? 'own' : signedContent,
          timestampUnit,
        ].join(),
        { algorithm, encoding, signedContent, timestampUnit },
      ]),
    ),
  ),
)

describe('the signature', () => {
  test.each(SCHEMES)('is what a receiver with the same option verifies: %s', async (_name, signature) => {
    const delivery = await signedDelivery('order.created', { secret, signature, now })
    const options = { secret, signature, now, toleranceSeconds: 1 }
    expect(await verifyWebhook(delivery.body, delivery.header, options)).toEqual(delivery.event)
    const { signedAt } = await verifySignature(delivery.body, delivery.header, options)
    expect(signedAt.getTime()).toBe(signature.timestampUnit === 'ms' ? NOW_MS : NOW_SECONDS * 1000)

    const again = await (await delivery.signAgain()).signAgain()
    expect(again.header).toBe(delivery.header)
    expect(again.headers).toEqual(delivery.headers)
  })

  test.each([0, 1, 2])('of a rotation is verified by each of its secrets: %i', async (index) => {
    const secrets = ['whsec_old', new TextEncoder().encode('whsec_bytes'), 'whsec_new']
    const { body, header } = await signedDelivery('order.created', { secret: secrets })
    expect(header.match(/v1=/g)).toHaveLength(3)
    const held = ['whsec_unrelated', secrets[index] ?? '']
    expect(await verifySignature(body, header, { secret: held })).toMatchObject({ secretIndex: 1 })
  })
})

test.each<[object, t: number, createdAt: string]>([
  [{ timestamp: 17, seed: 0 }, 17, '2026-05-17T14:02:11Z'],
  [{ timestamp: 0, now }, 0, '2026-05-17T14:00:00.750Z'],
  [{ at: 1000, now }, NOW_SECONDS, '1970-01-01T00:00:01Z'],
  [{ now }, NOW_SECONDS, '2026-05-17T14:00:00.750Z'],
])('timestamp sets t, at sets created_at, and now sets both: %o', async (options, signedAt, createdAt) => {
  const delivery = await signedDelivery('order.created', { secret, ...options })
  expect([t(delivery), delivery.event.created_at]).toEqual([String(signedAt), createdAt])
})

test('without any of them it is signed now, and happened at a time of its own', async () => {
  const before = Math.floor(Date.now() / 1000)
  const delivery = await signedDelivery('order.created', { secret, seed: 5 })
  expect(Number(t(delivery))).toBeGreaterThanOrEqual(before)
  expect(Number(t(delivery))).toBeLessThanOrEqual(Date.now() / 1000)
  expect(delivery.event.created_at).toBe('2026-05-17T14:07:11Z')
})

describe('signAgain', () => {
  test('signs the same body again, at the time it is by then', async () => {
    const clock = createTestClock(NOW_MS)
    const first = await signedDelivery('order.created', { secret, now: clock.now })
    clock.advance(301_000)
    const second = await first.signAgain()
    expect(second.body).toBe(first.body)
    expect(second.event).toEqual(first.event)
    expect([t(first), t(second)]).toEqual([seconds(NOW_SECONDS), seconds(NOW_SECONDS + 301)])
    expect(second.headers['x-service-signature']).toBe(second.header)
    expect(await verifyWebhook(second.body, second.header, { secret, now: clock.now })).toEqual(first.event)
  })

  test.each<[string, Parameters<SignedBody['signAgain']>[0], string]>([
    ['nothing', undefined, seconds(NOW_SECONDS)],
    ['a timestamp', { timestamp: 9 }, '9'],
    ['a clock', { now: () => 5000 }, '5'],
    ['both', { timestamp: 9, now: () => 5000 }, '9'],
    ['what is undefined', { now: undefined, timestamp: undefined } as object, seconds(NOW_SECONDS)],
  ])('with %s', async (_what, again, expected) => {
    const first = await signedDelivery('order.created', { secret, timestamp: 1, now })
    expect(t(await first.signAgain(again))).toBe(expected)
  })

  test('forgets a timestamp, and remembers a clock, for the next time', async () => {
    const first = await signedBody('{}', { secret, now })
    const second = await first.signAgain({ timestamp: 9 })
    expect(t(await second.signAgain())).toBe(seconds(NOW_SECONDS))
    const third = await first.signAgain({ now: () => 5000 })
    expect(t(await third.signAgain())).toBe('5')
  })
})

describe('the event', () => {
  test('is what the receiver reads in the body, always', { tags: ['slow'] }, async () => {
    const data = fc.dictionary(fc.string(), fc.jsonValue())
    await fc.assert(
      fc.asyncProperty(fc.string({ minLength: 1 }), data, async (kind, given) => {
        const delivery = await signedDelivery(kind, { secret, data: given, exact: true, now })
        expect(JSON.parse(delivery.body)).toStrictEqual(delivery.event)
        const read = await verifyWebhook(delivery.body, delivery.header, { secret, now })
        expect(read).toStrictEqual(delivery.event)
      }),
      { numRuns: 100 },
    )
  })

  test('has data changed as JSON changes it', async () => {
    const data = { at: new Date(0), none: undefined, list: [undefined] }
    const { event } = await signedDelivery('order.created', { secret, data, exact: true })
    expect(event.data).toStrictEqual({ at: '1970-01-01T00:00:00.000Z', list: [null] })
  })

  test.each([
    ['order.creatd', {}],
    ['order.created', { exact: true }],
  ])('is refused where there is no sample, and no data: %s %j', async (kind, options) => {
    const refused = signedDelivery(kind, { secret, ...options } as { secret: string; data: object })
    await expect(refused).rejects.toThrow(TypeError)
    await expect(refused).rejects.toThrow(/^data is missing: there are samples of order\.created, event/)
  })
})

test('any body can be signed: text as its UTF-8 bytes, bytes as they are', async () => {
  const texts = fc.constantFrom('', '\ufeff{}', '\ud800', 'Ünï\u2028', '\u0000')
  const bodies = fc.oneof(texts, fc.string(), fc.uint8Array())
  await fc.assert(
    fc.asyncProperty(bodies, async (given) => {
      const { body, header } = await signedBody(given, { secret, now })
      expect(body).toBe(given)
      const bytes = typeof given === 'string' ? new TextEncoder().encode(given) : given
      expect(await verifySignature(bytes, header, { secret, now })).toMatchObject({ secretIndex: 0 })
    }),
    { numRuns: 200 },
  )
})

test.each<[string, SigningOptions['secret']]>([
  ['text', SECRET],
  ['bytes', new TextEncoder().encode(SECRET)],
  ['a list', [SECRET, new TextEncoder().encode(SECRET)]],
])('a secret that is %s cannot be reached from the delivery', async (_what, given) => {
  const delivery = await signedDelivery('order.created', { secret: given })
  for (const one of [delivery, await delivery.signAgain(), await signedBody('{}', { secret: given })]) {
    expect(JSON.stringify(one)).not.toContain(SECRET)
    const seen = inspect(one, { depth: Number.POSITIVE_INFINITY, showHidden: true, maxArrayLength: null })
    for (const form of [SECRET, inspect(Buffer.from(SECRET)).slice(8, 40)]) expect(seen).not.toContain(form)
  }
})
