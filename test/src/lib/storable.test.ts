import fc from 'fast-check'
import { storable } from 'tix-webhooks'
import { expect, test } from 'vitest'
import { runs } from '../../support/runs.js'

/** JSON with any code units in its texts and names. */
const json = fc.jsonValue({ stringUnit: 'binary' })
const anyText = fc
  .array(fc.constantFrom('\0', '\ud83c', '\udf9f', '\u2028', 'a'))
  .map((parts) => parts.join(''))

test('a JSON value is returned itself if a database can store it, and a copy that differs in those characters if not', () => {
  fc.assert(
    fc.property(json, anyText, (value, text) => {
      const given = { [text]: [value, { text }], value }
      const before = structuredClone(given)
      const stored = storable(given)
      expect(given).toEqual(before)
      // JSON escapes them.
      const expected = JSON.stringify(given).replaceAll(
        /(?<!\\)((?:\\\\)*)\\u(0000|d[89a-f]..)/gi,
        '$1\ufffd',
      )
      expect(JSON.stringify(stored)).toBe(JSON.stringify(JSON.parse(expected)))
      expect(Object.is(stored, given)).toBe(JSON.stringify(given) === expected)
      expect(storable(stored)).toBe(stored)
    }),
    { numRuns: runs(100) },
  )
})

test('what is no text is left as it is, at any place', () => {
  class Money {
    text = '\0'
  }
  const others = [
    new Date(),
    new Map([['\0', '\0']]),
    new Money(),
    Buffer.from('\0'),
    () => '\0',
    1n,
    null,
    undefined,
    -0,
    Number.NaN,
  ]
  const bad = '\0'
  expect(storable(others)).toBe(others)
  const copy = storable([bad, ...others])
  expect(copy[0]).toBe('\ufffd')
  for (const [index, other] of others.entries()) expect(copy[index + 1]).toBe(other)
  expect(storable(bad)).toBe('\ufffd')
  // A name that JavaScript reads in another way is one like any other.
  const named = JSON.parse('{"__proto__":{"a":"\\u0000"},"\\ud800":1}') as object
  expect(JSON.stringify(storable(named))).toBe('{"__proto__":{"a":"\ufffd"},"\ufffd":1}')
  expect(storable(Object.assign(Object.create(null), { text: '\ud83c\udf9f\ud83c' }))).toEqual({
    text: '\u{1f39f}\ufffd',
  })
})

test('a value that contains itself, or is deeper than 1,000 levels, is refused', () => {
  const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels))
  const deepest = nested(1_000)
  expect(storable(deepest)).toBe(deepest)
  const loop: { self?: unknown } = {}
  loop.self = loop
  for (const value of [nested(1_001), loop]) {
    expect(() => storable(value)).toThrow(
      new TypeError('storable: the value is nested deeper than 1000 levels, or contains itself.'),
    )
  }
})
