import { describe, expect, test } from 'vitest'
import { checkWholeNumber } from '../../../src/lib/check-number.js'
import { describeValue } from '../../../src/lib/describe-type.js'

describe('a whole number', () => {
  test.each([
    [1, undefined],
    [7, undefined],
    [0, 0],
    [Number.MAX_SAFE_INTEGER, 3],
  ])('is %d, at least %j', (value, min) => {
    expect(checkWholeNumber('replicas', value, min)).toBe(value)
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
    expect(() => checkWholeNumber('replicas', value as number, min)).toThrow(
      new TypeError(`replicas must be a whole number of at least ${least}, not ${describeValue(value)}.`),
    )
  })
})
