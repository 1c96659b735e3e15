import fc from 'fast-check'
import { RETRY_SCHEDULE } from 'tix-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { jittered, retrySchedule } from '../../engine/schedule.js'

const HOURS_72 = 259_200

test('[N98] [N103] the schedules by name', () => {
  expect(retrySchedule('default')).toEqual(RETRY_SCHEDULE)
  expect([RETRY_SCHEDULE.length, RETRY_SCHEDULE.at(-1)]).toEqual([10, HOURS_72])
  // All n⁴ seconds within 72 hours; the first attempt is 1.
  const quartic = Array.from({ length: 21 }, (_, index) => (index + 2) ** 4)
  expect(retrySchedule('quartic')).toEqual(quartic)
  expect(retrySchedule('fast')).toEqual([1, 2, 4])
})

test.each<[string, readonly number[]]>([
  ['5s,1m,1h', [5, 60, 3600]],
  ['1s', [1]],
  [' 1.5s , 2500ms ,  0.5h,1d, 72h', [1.5, 2.5, 1800, 86_400, HOURS_72]],
  ['3d', [HOURS_72]],
])('[N103] the schedule %j is %j seconds', (text, seconds) => {
  expect(retrySchedule(text)).toEqual(seconds)
})

test.each<[unknown, string]>([
  ...['', '5', '5s;1m', '-5s', '1e3s', 'constructor'].map((text): [string, string] => [
    text,
    `"${text}" is none of them`,
  ]),
  ['5s,', '"" is none of them'],
  ['5s,soon', '"soon" is none of them'],
  ['fats', 'The retry schedule is default, quartic, fast, or a list of times after the first attempt'],
  ['5s,5s', '5s comes after 5s'],
  ['1m,5s', '5s comes after 1m'],
  ['1s,1500ms', 'at least 1 s later than the one before'],
  ['0s', '0s comes after its 0 s'],
  ['500ms', '500ms comes after its 0 s'],
  ['1m,73h', "must end within 72 hours, as the service's does; 73h is later"],
  [[5, 4], '4 comes after 5'],
  [[0], '0 comes after its 0 s'],
  [[Number.NaN], 'NaN comes after'],
  [['5'], '5 comes after'],
  [[Number.POSITIVE_INFINITY], 'Infinity is later'],
  [Array.from({ length: 101 }, (_, index) => index + 1), 'has 101 steps: 100 is the maximum'],
  [{ 0: 5 }, 'must be a list of seconds'],
])('the schedule %j is refused', (schedule, message) => {
  const read = () => retrySchedule(schedule as readonly number[])
  expect(read).toThrow(TypeError)
  expect(read).toThrow(message)
})

describe('jitter', () => {
  const jitters = fc.double({ min: 0, max: 0.5, noNaN: true })

  test('[N100] moves each step by no more than its part of the gap before it, the last one only back', () => {
    fc.assert(
      fc.property(jitters, fc.integer(), (jitter, seed) => {
        for (const [index, step] of jittered(RETRY_SCHEDULE, jitter, seed).entries()) {
          const at = (RETRY_SCHEDULE[index] ?? 0) * 1000
          const gap = at - (RETRY_SCHEDULE[index - 1] ?? 0) * 1000
          expect(step - at).toBeGreaterThanOrEqual(-jitter * gap - 1)
          expect(step - at).toBeLessThanOrEqual(index === RETRY_SCHEDULE.length - 1 ? 0 : jitter * gap)
        }
      }),
    )
  })

  test('is even in both directions, and uses its whole range', () => {
    const lasts: number[] = []
    const offs = Array.from({ length: 20_000 }, (_, seed) => {
      const [, second = 0, last = 0] = jittered([100, 300, 600], 0.1, seed)
      lasts.push((last / 1000 - 600) / 30)
      return (second / 1000 - 300) / 20
    })
    expect(Math.min(...lasts)).toBeLessThan(-0.99)
    expect(Math.max(...lasts)).toBeLessThanOrEqual(0)
    expect(Math.min(...offs)).toBeLessThan(-0.99)
    expect(Math.max(...offs)).toBeGreaterThan(0.99)
    expect(Math.abs(offs.reduce((sum, off) => sum + off, 0) / offs.length)).toBeLessThan(0.02)
  })
})
