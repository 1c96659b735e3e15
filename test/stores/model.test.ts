import fc from 'fast-check'
import { afterAll, beforeAll, test } from 'vitest'
import { isOfOneMysqlClient, type OpenBackend, STORE_KINDS } from '../support/backends.js'
import { onMysql } from '../support/on-servers.js'
import { expectModelAnswers, storeHistories } from '../support/store-histories.js'

const MINUTE = 60_000

for (const { name, describe, open } of STORE_KINDS.filter(isOfOneMysqlClient)) {
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
        { numRuns: describe === onMysql ? 30 : 60 },
      )
    })
  })
}
