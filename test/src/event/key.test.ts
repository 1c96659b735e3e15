import fc from 'fast-check'
import { ConfigurationError, type UnknownEvent } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { canonicalJson, defaultKeyPart, eventKey, keyPartOf } from '../../../src/event/key.js'
import { lifecycleEvent, orderCreated } from '../../support/deliveries.js'
import { throws } from '../../support/promises.js'
import { receiving } from '../../support/receiving.js'

const DIGEST = /^[0-9a-f]{64}$/

async function keyIn(namespace: string, account: string | null, type: string, part: string): Promise<string> {
  return (await eventKey(type, part))(namespace, account)
}

describe('the stored key', () => {
  test('is <namespace>/<type>/<part>, with the account after the namespace', async () => {
    expect(await keyIn('tickets', null, 'order.created', 'ord_7')).toBe('tickets/order.created/ord_7')
    expect(await keyIn('tickets', null, 'x.y', 'a/b c')).toBe('tickets/x.y/a/b c')
    expect(await keyIn('tickets', 'acme', 'order.created', 'ord_7')).toBe('tickets/acme/order.created/ord_7')
  })

  test.each([null, 'acme'])(
    'is plain up to 255 characters, and hashed past them, of the account %s',
    async (account) => {
      const prefix = account === null ? 'ns/' : `ns/${account}/`
      const room = 255 - `${prefix}x.y/`.length
      expect(await keyIn('ns', account, 'x.y', 'a'.repeat(room))).toBe(`${prefix}x.y/${'a'.repeat(room)}`)
      expect((await keyIn('ns', account, 'x.y', 'a'.repeat(room + 1))).replace(prefix, '')).toMatch(DIGEST)
    },
  )

  test('is hashed with a slash in the type, but for namespace and account', async () => {
    expect(await keyIn('ns', null, 'x/y', 'ord_7')).toMatch(/^ns\/[0-9a-f]{64}$/)
    expect(await keyIn('ns', 'acme', 'x/y', 'ord_7')).toMatch(/^ns\/acme\/[0-9a-f]{64}$/)
  })

  test('is printable ASCII of at most 255 bytes, and nobody else\u2019s', { tags: ['slow'] }, async () => {
    const texts = fc.string({
      unit: fc.constantFrom('a', '/', '.', '"', ',', ' ', 'é', '\ud800', '\udc00', '\n'),
      maxLength: 8,
    })
    const long = texts.map((text) => `${text}${'a'.repeat(250)}`)
    const names = fc.constantFrom('a', 'a.a', 'b', 'n'.repeat(64))
    for (const account of [fc.constant(null), names]) {
      const key = fc.tuple(names, account, fc.oneof(texts, long), fc.oneof(texts, long))
      await fc.assert(
        fc.asyncProperty(key, key, async (one, other) => {
          const [first, second] = [await keyIn(...one), await keyIn(...other)]
          expect(first).toMatch(/^[ -~]{1,255}$/)
          expect(first === second).toBe(one.every((value, i) => value === other[i]))
        }),
        { numRuns: 1000 },
      )
    }
  })

  test('of a lone surrogate is not that of the character that UTF-8 has in its place', async () => {
    expect(await keyIn('ns', null, 'x', '\ud800')).not.toBe(await keyIn('ns', null, 'x', '\ufffd'))
  })
})

describe('a key function', () => {
  const event: UnknownEvent = lifecycleEvent('order.created', { order: { id: 'ord_7' } })
  const delivery = { rawBody: new Uint8Array(), request: 'the request', secretIndex: 0, account: undefined }

  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['an empty string', ''],
    ['a promise', Promise.resolve('mine')],
  ])('that returns %s is a misconfiguration', (type, part) => {
    const call = () => keyPartOf(() => part as string, event, delivery)
    expect(call).toThrow(ConfigurationError)
    expect(call).toThrow(
      `Your key function returned ${type} for order.created: it must return a non-empty string, or null`,
    )
  })

  test.each([undefined, null, Number.NaN, {}, Promise.resolve('mine')])(
    'that returns the text of %s, which would make all such events one, is a misconfiguration',
    (missing) => {
      const call = () => keyPartOf(() => String(missing), event, delivery)
      expect(call).toThrow(ConfigurationError)
      expect(call).toThrow(`returned the text "${missing}" for order.created`)
      expect(keyPartOf(() => `order ${missing}`, event, delivery)).toBe(`order ${missing}`)
    },
  )

  test('that throws on bad data leaves the blame with the data', async () => {
    const { send } = receiving({ key: throws(new Error('no such field')), on: { 'order.created': () => {} } })
    expect(await send(lifecycleEvent('order.created', { order: null }))).toMatchObject({
      outcome: 'unprocessable',
      code: 'data_mismatch',
    })
  })
})

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

/** An event as received: parsed from JSON. */
const eventOf = (value: object): UnknownEvent => JSON.parse(JSON.stringify(value))
const partOf = async (value: object): Promise<string> =>
  defaultKeyPart(eventOf(value), bytesOf(JSON.stringify(value)))

/** The same value with only numbers that JSON.parse reads exactly. */
const exact = <T>(value: T): T =>
  JSON.parse(JSON.stringify(value), (_, part) =>
    typeof part === 'number' && Math.abs(part) > Number.MAX_SAFE_INTEGER ? Math.log(Math.abs(part)) : part,
  )

const json = fc.jsonValue({ stringUnit: 'binary' }).map(exact)

/** The same value with the members of every object in a different order. */
function reordered(value: unknown, gen: fc.GeneratorValue): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => reordered(item, gen))
  const members = Object.entries(value).map(([key, member]) => [key, reordered(member, gen)] as const)
  const all = { minLength: members.length, maxLength: members.length }
  return Object.fromEntries(gen(fc.shuffledSubarray, members, all))
}

describe('the default key of an order', () => {
  test.each<[string, unknown]>([
    ['an empty id', { order: { id: '' } }],
    ['a number as its id', { order: { id: 7 } }],
    ['no id', { order: {} }],
  ])('is a digest where it has %s', async (_, value) => {
    expect(await partOf({ ...orderCreated(), data: value })).toMatch(DIGEST)
  })

  test('is of its own kind: the same data under another is a digest', async () => {
    expect(await partOf({ ...orderCreated({ id: 'ord_7' }), type: 'order.refunded' })).toMatch(DIGEST)
  })
})

test('the default key of any other event is the SHA-256 of its canonical JSON', async () => {
  // Digests computed by `printf '%s' '{"created_at":…}' | sha256sum`: the digests are stored, so they must not change.
  const fixed = {
    type: 'event.published',
    created_at: '2026-05-17T14:02:11Z',
    data: { b: 1, a: [true, null] },
  }
  expect(await partOf(fixed)).toBe('1ca37901f3511e649a7a41fa7ea966b09a7793b2d7a184ebad548aaf83256258')
  expect(await partOf({ ...fixed, id: 'evt_9' })).toBe(
    'c1cbf9723541036d989612a8409d143b2635252831ee675a5892ea94c94f1d58',
  )
})

describe('numbers that JSON.parse cannot give exactly', () => {
  const bodyOf = (number: string): string =>
    `{"type":"event.published","created_at":"2026-05-17T14:02:11Z","data":{"seats":[{"n":${number}}]}}`
  const partOfText = async (text: string): Promise<string> => defaultKeyPart(JSON.parse(text), bytesOf(text))

  test.each([
    ['9007199254740993', '9007199254740992'],
    ['-9007199254740993', '-9007199254740992'],
    ['12345678901234567890123', '12345678901234567890124'],
    ['1e400', '1e401'],
    ['1e400', 'null'],
  ])('%s and %s are two events', async (one, other) => {
    expect(await partOfText(bodyOf(one))).not.toBe(await partOfText(bodyOf(other)))
    expect(await partOfText(bodyOf(one))).toBe(await partOfText(bodyOf(one)))
  })

  // The same event, written differently: the key is of the JSON, not of the bytes.
  test.each([
    ['1.50', '15e-1'],
    ['-0', '0'],
    ['"9007199254740993 and 1e400"', '"\\u0039007199254740993 and 1e400"'],
  ])('but %s and %s are one', async (one, other) => {
    expect(await partOfText(bodyOf(one))).toBe(await partOfText(bodyOf(other)))
  })
})

describe('canonical JSON', () => {
  test('is JSON of the same value: no two values have one text', () => {
    fc.assert(
      fc.property(json, (value) => {
        // -0 is written 0, as in JSON.stringify.
        expect(JSON.parse(canonicalJson(value) ?? '')).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  test('has one text for one value, whatever the order of its keys', () => {
    fc.assert(
      fc.property(json, fc.gen(), (value, gen) => {
        expect(canonicalJson(reordered(value, gen))).toBe(canonicalJson(value))
      }),
    )
  })
})
