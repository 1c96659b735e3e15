import { type SignatureOptions, verifySignature, verifyWebhook } from 'tix-webhooks'
import { createTestClock, type SignedBody, signedBody, signedDelivery } from 'tix-webhooks/testing'
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

  test('is in the header that the receiver reads, beside the content type and nothing else', async () => {
    const delivery = await signedDelivery('order.created', { secret })
    expect(delivery.headers).toEqual({
      'content-type': 'application/json',
      'x-service-signature': delivery.header,
    })
    const other = await signedDelivery('order.created', { secret, signature: { header: 'X-Tickets' } })
    expect(other.headers).toEqual({ 'content-type': 'application/json', 'x-tickets': other.header })
    expect((await other.signAgain()).headers).toEqual(other.headers)
  })

  test.each([0, 1, 2])('of a rotation is verified by each of its secrets: %i', async (index) => {
    const secrets = ['whsec_old', new TextEncoder().encode('whsec_bytes'), 'whsec_new']
    const { body, header } = await signedDelivery('order.created', { secret: secrets })
    expect(header.match(/v1=/g)).toHaveLength(3)
    const held = ['whsec_unrelated', secrets[index] ?? '']
    expect(await verifySignature(body, header, { secret: held })).toMatchObject({ secretIndex: 1 })
  })

  test('can be by sixteen secrets at most, and is by all of them', async () => {
    const secrets = Array.from({ length: 16 }, (_, index) => `whsec_${index}`)
    const { body, header } = await signedDelivery('order.created', { secret: secrets })
    expect(await verifySignature(body, header, { secret: 'whsec_15' })).toMatchObject({ secretIndex: 0 })
  })
})

describe('the clocks', () => {
  test('timestamp sets t, and nothing else', async () => {
    const delivery = await signedDelivery('order.created', { secret, timestamp: 17, seed: 0 })
    expect(t(delivery)).toBe('17')
    expect(delivery.event.created_at).toBe('2026-05-17T14:02:11Z')
    expect(t(await signedDelivery('order.created', { secret, timestamp: 0, now }))).toBe('0')
  })

  test('at sets created_at, and nothing else', async () => {
    const delivery = await signedDelivery('order.created', { secret, at: 1000, now })
    expect(delivery.event.created_at).toBe('1970-01-01T00:00:01Z')
    expect(t(delivery)).toBe(seconds(NOW_SECONDS))
  })

  test('now sets both', async () => {
    const delivery = await signedDelivery('order.created', { secret, now })
    expect(delivery.event.created_at).toBe('2026-05-17T14:00:00.750Z')
    expect(t(delivery)).toBe(seconds(NOW_SECONDS))
  })

  test('without any of them it is signed now, and happened at a time of its own', async () => {
    const before = Math.floor(Date.now() / 1000)
    const delivery = await signedDelivery('order.created', { secret, seed: 5 })
    expect(Number(t(delivery))).toBeGreaterThanOrEqual(before)
    expect(Number(t(delivery))).toBeLessThanOrEqual(Date.now() / 1000)
    expect(delivery.event.created_at).toBe('2026-05-17T14:07:11Z')
  })
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

  test('keeps all secrets of a rotation', async () => {
    const first = await signedBody('{}', { secret: ['whsec_old', 'whsec_new'], now })
    const { header } = await first.signAgain()
    expect(header).toBe(first.header)
  })
})
