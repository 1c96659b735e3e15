import { inspect } from 'node:util'
import fc from 'fast-check'
import { verifySignature, verifyWebhook } from 'tix-webhooks'
import { type SigningOptions, signedBody, signedDelivery } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { SECRET } from '../../support/deliveries.js'

const secret = SECRET
const now = () => Date.UTC(2026, 4, 17)

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
    const data = {
      ...{ at: new Date(0), cents: Number.NaN, much: Number.POSITIVE_INFINITY, none: undefined, nothing: -0 },
      ...{ list: [undefined, () => {}], map: new Map([[1, 2]]), call: () => {} },
    }
    for (const kind of ['order.refunded', 'order.created']) {
      const { event } = await signedDelivery(kind, { secret, data, exact: true })
      expect(event.data).toStrictEqual({
        ...{ at: '1970-01-01T00:00:00.000Z', cents: null, much: null, nothing: 0 },
        ...{ list: [null, null], map: {} },
      })
    }
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
    expect(inspect(one, { depth: Number.POSITIVE_INFINITY, showHidden: true })).not.toContain(SECRET)
    expect(partsOf(one).filter(isSecret)).toEqual([])
  }
  // The walk would find it.
  expect(partsOf(Object.assign(() => {}, { [Symbol('deep')]: [{ given }] })).some(isSecret)).toBe(true)
})

function isSecret(part: unknown): boolean {
  if (typeof part === 'string') return part.includes(SECRET)
  return part instanceof Uint8Array && Buffer.from(part).includes(SECRET)
}

/** Everything that can be reached by properties, hidden ones and those of functions and prototypes included. */
function partsOf(whole: unknown): unknown[] {
  const parts = new Set<unknown>([whole])
  for (const part of parts) {
    if ((typeof part !== 'object' && typeof part !== 'function') || part === null) continue
    if (part instanceof Uint8Array) continue
    for (const key of Reflect.ownKeys(part)) {
      const { value, get, set } = Object.getOwnPropertyDescriptor(part, key) ?? {}
      for (const found of [key, value, get, set]) parts.add(found)
    }
    parts.add(Object.getPrototypeOf(part))
  }
  return [...parts]
}
