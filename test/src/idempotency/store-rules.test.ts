import fc from 'fast-check'
import type { ClaimRequest } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { checkClaim, checkComplete, checkOnce, checkRelease, checkRenew } from '../../../src/internal.js'

const CLAIM: ClaimRequest = {
  key: 'test/order.created/ord_1',
  token: 't.1',
  leaseMs: 60_000,
  retainMs: 604_800_000,
}

/** Each check, with a request in which one field is replaced. */
const checkKey = (key: string): void => checkOnce({ key, retainMs: 1 })
const CHECKS_OF_LEASES: readonly ((field: object) => void)[] = [
  (field) => checkClaim({ ...CLAIM, ...field }),
  (field) => checkRenew({ ...CLAIM, ...field }, 1),
  (field) => checkComplete({ ...CLAIM, ...field }, 1),
  (field) => checkRelease({ ...CLAIM, ...field }),
]

const claimWith = (field: object): ClaimRequest => ({ ...CLAIM, ...field })

describe('text that every backend holds', () => {
  const FITS: readonly [what: string, text: string][] = [
    ['one character', 'k'],
    ['a blank', ' '],
    [
      'every printable character',
      String.fromCharCode(...Array.from({ length: 95 }, (_, i) => 32 + i)).slice(0, 64),
    ],
    ['the last of them', '~}|{zyx'],
    ['quotes and percent signs', `'"%_\\\\;--`],
    ['the longest token', 'x'.repeat(64)],
  ]
  test.each(FITS)('is %s', (_, text) => {
    expect(() => checkKey(text)).not.toThrow()
    for (const check of CHECKS_OF_LEASES) expect(() => check({ key: text, token: text })).not.toThrow()
  })

  const UNFIT: readonly [what: string, text: unknown, message: string][] = [
    ['empty', '', 'must be 1 to $max characters long, and this one has 0'],
    ['a NUL', 'a\0b', 'must be printable ASCII'],
    ['a line break at the end', 'ab\n', 'must be printable ASCII'],
    ['a tab', 'a\tb', 'must be printable ASCII'],
    ['DEL', 'a\x7f', 'must be printable ASCII'],
    ['an umlaut', 'grün', 'must be printable ASCII'],
    ['half of a surrogate pair', 'a\ud83d', 'must be printable ASCII'],
    ['undefined', undefined, 'must be a string, not undefined'],
    ['null', null, 'must be a string, not null'],
    ['a number', 7, 'must be a string, not 7'],
    ['bytes', new Uint8Array(3), 'must be a string, not an object'],
    ['a list of one', ['key'], 'must be a string, not an array'],
  ]
  test.each(UNFIT)('is not %s, as a key or as a token', (_, text, message) => {
    const expected = (field: string, max: number): string =>
      `${field} ${message.replace('$max', String(max))}`
    const refusal = (field: string, max: number): unknown =>
      expect.objectContaining({ name: 'TypeError', message: expect.stringContaining(expected(field, max)) })
    // An inbox takes a key of null for a plain transaction.
    if (text !== null) expect(thrownBy(() => checkKey(text as string))).toEqual(refusal('key', 255))
    for (const check of CHECKS_OF_LEASES) {
      expect(thrownBy(() => check({ key: text }))).toEqual(refusal('key', 255))
      expect(thrownBy(() => check({ token: text }))).toEqual(refusal('token', 64))
    }
  })

  test('is a key of at most 255 characters, and a token of at most 64', () => {
    expect(() => checkKey('x'.repeat(255))).not.toThrow()
    expect(() => checkKey('x'.repeat(256))).toThrow(
      /^key must be 1 to 255 characters long, and this one has 256: use a hash of it, as the receiver does\.$/,
    )
    expect(() => checkRelease({ ...CLAIM, token: 'x'.repeat(65) })).toThrow(
      /^token must be 1 to 64 characters long, and this one has 65\.$/,
    )
  })

  test('is quoted in no message: a key may be from a stranger, and long', () => {
    for (const key of ['secret-ish\n', `${'secret-ish'.repeat(30)}`]) {
      expect(() => checkKey(key)).toThrow(expect.not.stringContaining('secret-ish'))
    }
  })

  test('is what matches printable ASCII of the length, and nothing else', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ maxLength: 300 }), fc.string({ unit: 'binary', maxLength: 300 })),
        (text) => {
          const fits = [...text].every((c) => c >= ' ' && c <= '~') && text.length >= 1 && text.length <= 255
          expect(thrownBy(() => checkKey(text)) === undefined).toBe(fits)
        },
      ),
      { numRuns: 500 },
    )
  })
})

describe('a duration', () => {
  test.each([1, 0.5, 604_800_000, Number.MIN_VALUE, Number.MAX_SAFE_INTEGER])('is %d ms', (ms) => {
    expect(() => checkClaim({ ...CLAIM, leaseMs: ms, retainMs: ms })).not.toThrow()
    expect(() => checkRenew(CLAIM, ms)).not.toThrow()
    expect(() => checkComplete(CLAIM, ms)).not.toThrow()
    expect(() => checkOnce({ key: null, retainMs: ms })).not.toThrow()
  })

  test.each([
    [0, '0'],
    [-0, '0'],
    [-1, '-1'],
    [Number.NaN, 'NaN'],
    [Number.POSITIVE_INFINITY, 'Infinity'],
    [2 ** 53, '9007199254740992'],
    [Number.NEGATIVE_INFINITY, '-Infinity'],
    ['60000', '"60000"'],
    [undefined, 'undefined'],
    [null, 'null'],
    [true, 'a boolean'],
    [{}, 'an object'],
  ])('is not %j', (value, shown) => {
    const ms = value as number
    const errorFor = (field: string): TypeError =>
      new TypeError(
        `${field} must be a number of milliseconds above 0 and at most 9007199254740991, not ${shown}.`,
      )
    expect(thrownBy(() => checkClaim(claimWith({ leaseMs: ms })))).toEqual(errorFor('leaseMs'))
    expect(thrownBy(() => checkRenew(CLAIM, ms))).toEqual(errorFor('leaseMs'))
    expect(thrownBy(() => checkClaim(claimWith({ retainMs: ms })))).toEqual(errorFor('retainMs'))
    expect(thrownBy(() => checkComplete(CLAIM, ms))).toEqual(errorFor('retainMs'))
    expect(thrownBy(() => checkOnce({ key: null, retainMs: ms }))).toEqual(errorFor('retainMs'))
  })
})

function thrownBy(call: () => void): unknown {
  try {
    call()
    return undefined
  } catch (error) {
    return error
  }
}
