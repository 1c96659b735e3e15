import { StoreError } from 'tix-webhooks'
import * as kit from 'tix-webhooks/store-kit'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { never } from '../support/promises.js'
import { advance } from '../support/virtual-time.js'

test('the kit has at run time what docs/idempotency.md lists, and nothing else', () => {
  expect(Object.keys(kit).sort()).toEqual([
    'StoreError',
    'checkChanges',
    'checkClaim',
    'checkComplete',
    'checkOnce',
    'checkOptionNames',
    'checkRelease',
    'checkRenew',
    'checkRetentionSeconds',
    'checkWholeNumber',
    'checkedClock',
    'checkedFor',
    'createPurger',
    'describeType',
    'describeValue',
    'isDiscard',
    'messageOf',
    'settled',
    'within',
  ])
  expect(kit.StoreError).toBe(StoreError)
})

describe('a whole number', () => {
  test.each([
    [1, undefined],
    [7, undefined],
    [0, 0],
    [Number.MAX_SAFE_INTEGER, 3],
  ])('is %d, at least %j', (value, min) => {
    expect(kit.checkWholeNumber('replicas', value, min)).toBe(value)
  })

  test.each([
    [0, undefined, 1],
    [-1, 0, 0],
    [2, 3, 3],
    [1.5, 0, 0],
    [Number.NaN, 0, 0],
    [2 ** 53, 0, 0],
    ['1', 0, 0],
    [null, 0, 0],
  ])('is not %j, at least %j', (value, min, least) => {
    expect(() => kit.checkWholeNumber('replicas', value as number, min)).toThrow(
      new TypeError(`replicas must be a whole number of at least ${least}, not ${kit.describeValue(value)}.`),
    )
  })
})

describe('the message of what was thrown', () => {
  const revoked = Proxy.revocable({}, {})
  revoked.revoke()

  test.each([
    ['an error', new Error('down'), 'down'],
    ['an error of another realm', { message: 'down' }, 'down'],
    [
      'an error with several errors and no message',
      new AggregateError([new Error('a'), new Error('b')]),
      'a; b',
    ],
    ['an error with several errors and a message', new AggregateError([new Error('a')], 'down'), 'down'],
    ['an error without a message', new Error(''), ''],
    ['text', 'down', 'down'],
    ['nothing', undefined, 'undefined'],
    ['null', null, 'null'],
    ['an object without a message', {}, '[object Object]'],
    ['what cannot be read', revoked.proxy, 'an unreadable error'],
    ['what cannot be text', Object.create(null), 'an unreadable error'],
  ])('of %s', (_, thrown, message) => {
    expect(kit.messageOf(thrown)).toBe(message)
  })
})

describe('work that is waited for', () => {
  const late = () => 'late'

  beforeEach(() => {
    vi.useFakeTimers()
  })

  afterEach(() => {
    vi.useRealTimers()
  })

  test.each([0, 0.5, 2_000, 2_147_483_000])('for %d ms is late after them, and not before', async (ms) => {
    const settled = vi.fn()
    void kit.within<string>(never(), ms, late).then(settled)
    await advance(Math.max(0, ms - 1) / 1000)
    if (ms > 1) expect(settled).not.toHaveBeenCalled()
    await advance(0.002)
    expect(settled.mock.calls).toEqual([['late']])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('gives its result, or its error, and leaves no timer behind', async () => {
    expect(await kit.within(Promise.resolve('done'), 50, late)).toBe('done')
    await expect(kit.within(Promise.reject(new Error('down')), 50, late)).rejects.toThrow('down')
    expect(vi.getTimerCount()).toBe(0)
  })

  test('ends with what is thrown when it is late', async () => {
    const ended = kit.within<string>(never(), 50, () => {
      throw new Error('too late')
    })
    ended.catch(() => {})
    await advance(0.05)
    await expect(ended).rejects.toThrow('too late')
  })

  // Past some 24.8 days a timer fires at once.
  test.each([
    [-1, '-1'],
    [2_147_483_001, '2147483001'],
    [Number.POSITIVE_INFINITY, 'Infinity'],
    [Number.NaN, 'NaN'],
    ['50', '"50"'],
    [undefined, 'undefined'],
  ])('cannot be waited for %j ms, and its own rejection is not left unhandled', async (ms, shown) => {
    const unhandled = vi.fn()
    process.on('unhandledRejection', unhandled)
    await expect(kit.within(Promise.reject(new Error('unheard')), ms as number, late)).rejects.toThrow(
      new TypeError(`ms must be a number of milliseconds from 0 to 2147483000, not ${shown}.`),
    )
    await advance(1)
    process.off('unhandledRejection', unhandled)
    expect(unhandled).not.toHaveBeenCalled()
  })
})

test('messageOf reads an error that contains itself, twice, in bounded time', () => {
  const error = new AggregateError([], '')
  error.errors.push(error, error)
  expect(kit.messageOf(error)).toBe('; ')
})
