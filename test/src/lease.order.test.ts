import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ALL_TRIES_MS, ENDING, hold, toTheEnd } from '../support/held-lease.js'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

const reply = fc.record({
  afterMs: fc.integer({ min: 0, max: 1_999 }),
  answer: fc.constantFrom('true', 'true', 'false', 'reject'),
})

test('there is one store call at a time for a lease, whatever the store takes and says', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(reply, { minLength: 1, maxLength: 40, size: 'max' }),
      fc.integer({ min: 3, max: 9_000 }),
      fc.integer({ min: 0, max: 30_000 }),
      fc.constantFrom('complete', 'release'),
      async (replies, leaseMs, settleAtMs, end) => {
        let underWay = 0
        let most = 0
        let next = 0
        const answer = async (): Promise<boolean> => {
          underWay += 1
          most = Math.max(most, underWay)
          const { afterMs, answer } = replies[next++ % replies.length] as (typeof replies)[number]
          await new Promise((resolve) => setTimeout(resolve, afterMs))
          underWay -= 1
          if (answer === 'reject') throw new Error('connect ECONNREFUSED')
          return answer === 'true'
        }
        const script = { renew: answer, complete: answer, release: answer }
        const { held, called } = hold(script, { leaseMs })

        await vi.advanceTimersByTimeAsync(settleAtMs)
        await toTheEnd(held.settle(ENDING[end]))
        await vi.advanceTimersByTimeAsync(ALL_TRIES_MS)

        expect(most).toBe(1)
        expect(underWay).toBe(0)
        // Once settling has begun, nothing is renewed: the calls are renewals, and then the ends.
        expect(called().join(' ')).toMatch(new RegExp(`^(renew )*(${end} ?){1,7}$`))
        expect(vi.getTimerCount()).toBe(0)
      },
    ),
    { numRuns: 200 },
  )
})
