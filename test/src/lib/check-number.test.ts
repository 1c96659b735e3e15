import { expect, test } from 'vitest'
import { checkWholeNumber } from '../../../src/lib/check-number.js'
import { describeType, describeValue } from '../../../src/lib/describe-type.js'

test.each([
  [1, undefined],
  [0, 0],
  [Number.MAX_SAFE_INTEGER, 3],
])('%d is a whole number of at least %j', (value, min) => {
  expect(checkWholeNumber('replicas', value, min)).toBe(value)
})

test.each([
  [0, undefined, 1],
  [2, 3, 3],
  [1.5, 0, 0],
  [Number.NaN, 0, 0],
  [2 ** 53, 0, 0],
  ['1', 0, 0],
])('%j is no whole number of at least %j', (value, min, least) => {
  expect(() => checkWholeNumber('replicas', value as number, min)).toThrow(
    new TypeError(`replicas must be a whole number of at least ${least}, not ${describeValue(value)}.`),
  )
})

test.each<[unknown, string]>([
  [undefined, 'undefined'],
  [null, 'null'],
  [[1], 'an array'],
  [{}, 'an object'],
  ['text', 'a string'],
  [() => {}, 'a function'],
])('a wrong value is described by its type alone: %s', (value, words) => {
  expect(describeType(value)).toBe(words)
})
