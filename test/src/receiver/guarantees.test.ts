/** @module-tag slow */
import fc from 'fast-check'
import { answerTo, type Outcome } from 'tix-webhooks'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { callFates, handlerFates } from '../../support/chaos.js'
import { live, PROVEN_WRONG, plans, TIMEOUT_SECONDS } from '../../support/plans.js'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test('G1, G2, G3, G5 hold for any schedule of deliveries, failures, slow handlers, drains and store errors', async () => {
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      const { answers, records, faults } = await live(plan)

      // G1 and G3, as seen by the handlers and the store.
      expect(faults).toEqual([])

      // G5: an answer to each, in time, and one record of each.
      expect(answers).toHaveLength(plan.deliveries.length)
      for (const { tookMs } of answers) expect(tookMs).toBeLessThanOrEqual(TIMEOUT_SECONDS * 1000)
      expect(records.map(({ outcome }) => outcome).sort()).toEqual(
        answers.map(({ outcome }) => outcome.outcome).sort(),
      )

      for (const { planned, outcome, done, discarded } of answers) {
        const { status } = answerTo(outcome)
        const refusals = PROVEN_WRONG[planned.trick]
        // G1: an unproven delivery is never acknowledged.
        if (refusals !== undefined) expect(refusals).toContain(outcome.outcome)
        // G2: an acknowledged event is done, and a proven one is never refused for good.
        if (outcome.outcome === 'handled') expect(done).toBe(true)
        if (outcome.outcome === 'discarded') expect(discarded).toBe(true)
        if (outcome.outcome === 'duplicate') expect(done || discarded).toBe(true)
        if (refusals === undefined) expect([200, 500, 503]).toContain(status)
      }
    }),
    { numRuns: 400 },
  )
})

test('a sender that keeps coming is answered 200 in the end, whatever happened before, and exactly one run was recorded', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(callFates, { maxLength: 12, size: 'max' }),
      fc.array(handlerFates, { maxLength: 6, size: 'max' }),
      async (calls, runs) => {
        // The plan's sender retries for longer than any lease and any given-up run can last.
        const retries = Array.from(
          { length: 30 },
          () => ({ after: 500, process: 0, event: 0, trick: 'none', drain: false }) as const,
        )
        const { answers } = await live({ deliveries: retries, calls, runs })
        expect(answerTo(answers.at(-1)?.outcome as Outcome).status).toBe(200)
      },
    ),
    { numRuns: 150 },
  )
})
