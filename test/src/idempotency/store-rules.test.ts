import fc from 'fast-check'
import type { ClaimRequest, RemoteStore } from 'tix-webhooks'
import { afterEach, describe, expect, test } from 'vitest'
import { checkedStore, checkOnce } from '../../../src/internal.js'

const CLAIM: ClaimRequest = {
  key: 'test/order.created/ord_1',
  token: 't.1',
  leaseMs: 60_000,
  retainMs: 604_800_000,
}

/** What a backend was asked: nothing, if the request was refused. */
const asked: unknown[][] = []
const answering =
  (name: string, answer: unknown) =>
  (...args: unknown[]): Promise<never> => {
    asked.push([name, ...args])
    return Promise.resolve(answer as never)
  }
const purge = async (): Promise<number> => 7
const unchecked = {
  claim: answering('claim', { status: 'completed' }),
  renew: answering('renew', true),
  complete: answering('complete', false),
  release: answering('release', true),
  isHandled: answering('isHandled', true),
  check: answering('check', undefined),
  purge,
  ddl: 'CREATE TABLE',
} satisfies RemoteStore & Record<string, unknown>
const store = checkedStore(unchecked)

/** Each check, with a request in which one field is replaced. */
const checkKey = (key: string): void => checkOnce({ key, retainMs: 1 })
const CALLS_WITH_LEASES: readonly ((field: object) => Promise<unknown>)[] = [
  (field) => store.claim({ ...CLAIM, ...field }),
  (field) => store.renew({ ...CLAIM, ...field }, 1),
  (field) => store.complete({ ...CLAIM, ...field }, 1),
  (field) => store.release({ ...CLAIM, ...field }),
]

const claimWith = (field: object): ClaimRequest => ({ ...CLAIM, ...field })

afterEach(() => {
  asked.length = 0
})

test('a checked store passes on what is valid, gives the very promises of the store, and keeps its other members', async () => {
  const calls = [
    store.claim(CLAIM),
    store.renew(CLAIM, 2),
    store.complete(CLAIM, 3),
    store.release(CLAIM),
    store.isHandled('k'),
    store.check(),
  ]
  expect(await Promise.all(calls)).toEqual([{ status: 'completed' }, true, false, true, true, undefined])
  expect(asked).toEqual([
    ['claim', CLAIM],
    ['renew', CLAIM, 2],
    ['complete', CLAIM, 3],
    ['release', CLAIM],
    ['isHandled', 'k'],
    ['check'],
  ])
  const promise = Promise.resolve(true)
  expect(checkedStore<RemoteStore>({ ...unchecked, release: () => promise }).release(CLAIM)).toBe(promise)
  expect(store).toMatchObject({ purge, ddl: 'CREATE TABLE' })
})

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
  test.each(FITS)('is %s', async (_, text) => {
    expect(() => checkKey(text)).not.toThrow()
    for (const call of CALLS_WITH_LEASES) await call({ key: text, token: text })
    expect(asked).toHaveLength(CALLS_WITH_LEASES.length)
  })

  const UNFIT: readonly [what: string, text: unknown, message: string][] = [
    ['empty', '', 'must be 1 to $max characters long, and this one is empty.'],
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
    ['a key that is not awaited', Promise.resolve('key'), 'must be a string, not a promise'],
  ]
  test.each(UNFIT)('is not %s, as a key or as a token', async (_, text, message) => {
    const expected = (field: string, max: number): string =>
      `${field} ${message.replace('$max', String(max))}`
    const refusal = (field: string, max: number): unknown =>
      expect.objectContaining({ name: 'TypeError', message: expect.stringContaining(expected(field, max)) })
    // An inbox takes a key of null for a plain transaction.
    if (text !== null) expect(thrownBy(() => checkKey(text as string))).toEqual(refusal('key', 255))
    expect(await refusalOf(store.isHandled(text as string))).toEqual(refusal('key', 255))
    for (const call of CALLS_WITH_LEASES) {
      expect(await refusalOf(call({ key: text }))).toEqual(refusal('key', 255))
      expect(await refusalOf(call({ token: text }))).toEqual(refusal('token', 64))
    }
    expect(asked).toEqual([])
  })

  test('is a key of at most 255 characters, and a token of at most 64', async () => {
    expect(() => checkKey('x'.repeat(255))).not.toThrow()
    expect(() => checkKey('x'.repeat(256))).toThrow(
      /^key must be 1 to 255 characters long, and this one has 256: use a hash of it, as the receiver does\.$/,
    )
    await expect(store.release({ ...CLAIM, token: 'x'.repeat(65) })).rejects.toThrow(
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
  test.each([1, 0.5, 604_800_000, Number.MIN_VALUE, Number.MAX_SAFE_INTEGER])('is %d ms', async (ms) => {
    await store.claim({ ...CLAIM, leaseMs: ms, retainMs: ms })
    await store.renew(CLAIM, ms)
    await store.complete(CLAIM, ms)
    expect(asked).toHaveLength(3)
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
  ])('is not %j', async (value, shown) => {
    const ms = value as number
    const errorFor = (field: string): TypeError =>
      new TypeError(
        `${field} must be a number of milliseconds above 0 and at most 9007199254740991, not ${shown}.`,
      )
    expect(await refusalOf(store.claim(claimWith({ leaseMs: ms })))).toEqual(errorFor('leaseMs'))
    expect(await refusalOf(store.renew(CLAIM, ms))).toEqual(errorFor('leaseMs'))
    expect(await refusalOf(store.claim(claimWith({ retainMs: ms })))).toEqual(errorFor('retainMs'))
    expect(await refusalOf(store.complete(CLAIM, ms))).toEqual(errorFor('retainMs'))
    expect(thrownBy(() => checkOnce({ key: null, retainMs: ms }))).toEqual(errorFor('retainMs'))
    expect(asked).toEqual([])
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

/** The error of a rejection; a call that throws, or is not refused, fails. */
function refusalOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    (answer) => `not refused: ${JSON.stringify(answer)}`,
    (error: unknown) => error,
  )
}
