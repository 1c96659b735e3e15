/** @module-tag slow */
import fc from 'fast-check'
import { answerTo, type Outcome } from 'tix-webhooks'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { handlerFates, transactionFates } from '../../support/chaos.js'
import { inboxPlans, liveWithInbox, PROVEN_WRONG, TIMEOUT_SECONDS } from '../../support/plans.js'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test('G1, G2, G4, G5 hold for any schedule of deliveries, slow and failing handlers, and lost transactions', async () => {
  await fc.assert(
    fc.asyncProperty(inboxPlans, async (plan) => {
      const { answers, records, faults, kept, open } = await liveWithInbox(plan)

      // G1: the inbox saw nothing unproven; and two handlers overlapped only if the database has no locks.
      expect(faults).toEqual([])

      // G4: an effect at most once, and never without its record.
      for (const { effects, record } of kept) expect(effects).toBe(record === 'handled' ? 1 : 0)

      // G5: an answer to each, in time, and one record of each.
      expect(answers).toHaveLength(plan.deliveries.length)
      for (const { tookMs } of answers) expect(tookMs).toBeLessThanOrEqual(TIMEOUT_SECONDS * 1000)
      expect(records.map(({ outcome }) => outcome).sort()).toEqual(
        answers.map(({ outcome }) => outcome.outcome).sort(),
      )

      for (const { planned, outcome, effects, record } of answers) {
        const { status } = answerTo(outcome)
        const refusals = PROVEN_WRONG[planned.trick]
        if (refusals === undefined) expect([200, 500, 503]).toContain(status)
        else expect(refusals).toContain(outcome.outcome)
        // G2: an acknowledged event had been committed by then.
        if (outcome.outcome === 'handled')
          expect({ effects, record }).toEqual({ effects: 1, record: 'handled' })
        if (outcome.outcome === 'discarded')
          expect({ effects, record }).toEqual({ effects: 0, record: 'discarded' })
        if (outcome.outcome === 'duplicate') expect(record).toBeDefined()
      }

      // No transaction stays open without a delivery.
      expect(open).toBe(0)
      vi.clearAllTimers()
    }),
    { numRuns: 500 },
  )
})

test('a sender that keeps coming is answered 200 in the end, and there is one effect, or a discard', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(transactionFates, { maxLength: 8, size: 'max' }),
      fc.array(handlerFates, { maxLength: 6, size: 'max' }),
      fc.boolean(),
      async (transactions, runs, locks) => {
        // The plan's sender retries for longer than any transaction can last.
        const deliveries = Array.from(
          { length: 24 },
          () => ({ after: 500, process: 0, event: 0, trick: 'none', drain: false }) as const,
        )
        const { answers, kept } = await liveWithInbox({ deliveries, transactions, runs, locks })
        expect(answerTo(answers.at(-1)?.outcome as Outcome).status).toBe(200)
        expect(kept[0]).toEqual(
          kept[0]?.record === 'discarded'
            ? { effects: 0, record: 'discarded' }
            : { effects: 1, record: 'handled' },
        )
        vi.clearAllTimers()
      },
    ),
    { numRuns: 100 },
  )
})
