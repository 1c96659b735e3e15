import { expect, test } from 'vitest'
import { describeType } from '../../../src/lib/describe-type.js'

test.each<[unknown, string]>([
  [undefined, 'undefined'],
  [null, 'null'],
  [[1], 'an array'],
  [{}, 'an object'],
  ['text', 'a string'],
  [1n, 'a bigint'],
  [Symbol('s'), 'a symbol'],
  [() => {}, 'a function'],
])('a wrong value is described by its type alone: %s', (value, words) => {
  expect(describeType(value)).toBe(words)
})
