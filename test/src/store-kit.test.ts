import { StoreError } from 'tix-webhooks'
import * as kit from 'tix-webhooks/store-kit'
import { describe, expect, test } from 'vitest'

test('the kit has at run time what docs/idempotency.md lists, and nothing else', () => {
  expect(Object.keys(kit).sort()).toEqual([
    'StoreError',
    'checkClaim',
    'checkComplete',
    'checkOnce',
    'checkOptionNames',
    'checkRelease',
    'checkRenew',
    'checkWholeNumber',
    'checkedClock',
    'checkedFor',
    'createPurger',
    'describeType',
    'describeValue',
    'isDiscard',
    'messageOf',
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
