import { expect, test } from 'vitest'
import { durationMs } from '../../time/duration.js'

test.each([
  ['250ms', 250],
  ['90s', 90_000],
  ['5m', 300_000],
  ['1.5h', 5_400_000],
  ['72h', 259_200_000],
  ['3d', 259_200_000],
  ['2w', 1_209_600_000],
  ['0s', 0],
  [1500, 1500],
])('%j is %d milliseconds', (duration, expected) => {
  expect(durationMs('duration', duration)).toBe(expected)
})

test.each([
  ...['', '72', '-1h', '1 h', '1y', 'h', '1h30m', '101 years', '40000d', '1e3s'],
  ...[Number.NaN, -1, Number.POSITIVE_INFINITY],
])('%j is refused, with examples', (duration) => {
  expect(() => durationMs('advance', duration)).toThrow(
    /^advance must be a span of time such as 90s, 5m, 72h or 3d, of at most 100 years; not /,
  )
})
