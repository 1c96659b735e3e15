import { expect, test } from 'vitest'
import { createRateLimiter } from '../../../http/protection/rate-limit.js'

test('[N21] refuses what is more, until the time is over', () => {
  let now = 5000
  const takeOne = createRateLimiter({ requests: 3, perSeconds: 10 }, () => now)
  const outcomes = [0, 0, 0, 0, 9_500, 499, 1, 0, 0, 0].map((ms) => {
    now += ms
    try {
      takeOne()
      return 'taken'
    } catch (error) {
      return (error as { headers: Record<string, string> }).headers['retry-after']
    }
  })
  expect(outcomes).toEqual(['taken', 'taken', 'taken', '10', '1', '1', 'taken', 'taken', 'taken', '10'])
})

test.each([
  { requests: 0, perSeconds: 1 },
  { requests: 1.5, perSeconds: 1 },
  { requests: Number.NaN, perSeconds: 1 },
  { requests: 1, perSeconds: 0 },
  { requests: 1, perSeconds: Number.NaN },
])('%j is no limit', (limit) => {
  expect(() => createRateLimiter(limit, () => 0)).toThrow(TypeError)
})
