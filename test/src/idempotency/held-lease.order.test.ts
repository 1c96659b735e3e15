/** @module-tag slow */
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { ALL_TRIES, BOOM, begin, REFUSED } from '../../support/delivering.js'
import { advance, sleep, useVirtualTime } from '../../support/virtual-time.js'

useVirtualTime()

const replies = fc.record({
  after: fc.integer({ min: 0, max: 1_999 }),
  answer: fc.constantFrom('true', 'true', 'false', 'reject'),
})

test('there is one store call at a time for a delivery, whatever the store takes and answers', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(replies, { minLength: 1, maxLength: 40, size: 'max' }),
      fc.integer({ min: 100, max: 9_000 }),
      fc.integer({ min: 0, max: 30_000 }),
      fc.constantFrom('complete', 'release'),
      async (script, leaseMs, endsAtMs, end) => {
        let underWay = 0
        let most = 0
        let next = 0
        const answer = async (): Promise<boolean> => {
          underWay += 1
          most = Math.max(most, underWay)
          const { after, answer } = script[next++ % script.length] as (typeof script)[number]
          await sleep(after / 1000)
          underWay -= 1
          if (answer === 'reject') throw REFUSED
          return answer === 'true'
        }
        const held = await begin(
          { renew: answer, complete: answer, release: answer },
          { leaseSeconds: leaseMs / 1000 },
        )
        await advance(endsAtMs / 1000)
        if (end === 'complete') held.work.resolve(undefined)
        else held.work.reject(BOOM)
        await advance(15)
        expect(held.answered()).toMatchObject({ outcome: end === 'complete' ? 'handled' : 'failed' })
        await advance(ALL_TRIES)

        expect(most).toBe(1)
        expect(underWay).toBe(0)
        // After the handler has settled, nothing is renewed: renewals come first, then the ends.
        expect(held.called().join(' ')).toMatch(new RegExp(`^claim (renew )*(${end} ?){1,7}$`))
        expect(vi.getTimerCount()).toBe(0)
      },
    ),
    { numRuns: 200 },
  )
})
