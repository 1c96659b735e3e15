import fc from 'fast-check'
import { ConfigurationError, type UnknownEvent } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { eventKey, keyPartOf } from '../../../src/receiver/key.js'
import { lifecycleEvent } from '../../support/deliveries.js'

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

  test.each([
    ['a new line', 'x.y', 'ord_7\n'],
    ['NUL', 'x.y', 'ord\u0000'],
    ['delete', 'x.y', 'ord\u007f'],
    ['a letter beyond ASCII', 'x.y', 'ord_é'],
    ['a lone surrogate', 'x.y', '\ud800'],
    ['a type beyond ASCII', 'événement', 'ord_7'],
    ['a slash in the type', 'x/y', 'ord_7'],
  ])('is hashed with %s, but for namespace and account', async (_, type, part) => {
    expect(await keyIn('ns', null, type, part)).toMatch(/^ns\/[0-9a-f]{64}$/)
    expect(await keyIn('ns', 'acme', type, part)).toMatch(/^ns\/acme\/[0-9a-f]{64}$/)
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

  test.each<[[string, string], [string, string]]>([
    [
      ['a', 'b/c'],
      ['a/b', 'c'],
    ],
    [
      ['a', '/b'],
      ['a/', 'b'],
    ],
    [
      ['a/b', 'c/d'],
      ['a/b/c', 'd'],
    ],
    [
      ['x', '\ud800'],
      ['x', '\ufffd'],
    ],
    [
      ['x', '\ud800'],
      ['x', '\ud801'],
    ],
    [
      ['x', 'é'],
      ['x', 'e\u0301'],
    ],
    [
      ['x', 'a","b'],
      ['x","a', 'b'],
    ],
  ])('of %j is not that of %j', async (one, other) => {
    expect(await keyIn('ns', null, ...one)).not.toBe(await keyIn('ns', null, ...other))
  })
})

describe('a key function', () => {
  const event: UnknownEvent = lifecycleEvent('order.created', { order: { id: 'ord_7' } })
  const delivery = { rawBody: new Uint8Array(), request: 'the request', secretIndex: 0, account: undefined }

  test('gives the part, or null for none, from the event, the bytes and the request', () => {
    const seen: unknown[] = []
    expect(
      keyPartOf(
        (...args) => {
          seen.push(...args)
          return 'mine'
        },
        event,
        delivery,
      ),
    ).toBe('mine')
    expect(seen).toEqual([event, delivery])
    expect(keyPartOf(() => null, event, delivery)).toBeNull()
  })

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

  test('that throws is a misconfiguration, with its error as the cause', () => {
    const cause = new TypeError('no such field')
    const call = () =>
      keyPartOf(
        () => {
          throw cause
        },
        event,
        delivery,
      )
    expect(call).toThrow(ConfigurationError)
    expect(call).toThrow(expect.objectContaining({ code: 'misconfigured', cause }))
    expect(call).toThrow(/Your key function threw for order\.created: return a string for every event/)
  })
})
