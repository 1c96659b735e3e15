import fc from 'fast-check'
import { afterAll, beforeAll, test } from 'vitest'
import { OUR_STORES } from '../support/our-stores.js'
import { expectModelAnswers, storeHistories } from '../support/store-histories.js'
import type { OpenBackend } from '../support/stores/kinds.js'

const MINUTE = 60_000

for (const { describe, stores, share = 1 } of OUR_STORES) {
  for (const { name, open } of stores.filter(({ isTwin }) => !isTwin)) {
    describe(`${name}:`, () => {
      let backend: OpenBackend
      beforeAll(async () => {
        backend = await open()
      })
      afterAll(() => backend.close())

      test('answers thousands of random steps as the model does', { timeout: 120_000 }, async () => {
        const store = await backend.create()
        let run = 0
        // Minutes where the model has seconds: a machine that stalls must not end a lease.
        const terms = { leaseMs: [30 * MINUTE], retainMs: [1_000 * MINUTE] }
        await fc.assert(
          fc.asyncProperty(storeHistories(terms, 60, MINUTE), async (history) => {
            run += 1
            await expectModelAnswers(store, backend.advance, history, String(run))
          }),
          { numRuns: 60 * share },
        )
      })
    })
  }
}
