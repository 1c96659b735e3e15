import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { OUR_STORES } from '../support/our-stores.js'
import { createStoreModel, perform, type StoreAction, storeHistories } from '../support/store-model.js'
import type { OpenBackend } from '../support/stores/kinds.js'

const MINUTE = 60_000

/** Real time goes by as well, so a rest of a lease is what the model says, or a little less. */
function expectAlike(answer: unknown, expected: unknown, step: string): void {
  if (typeof expected === 'object' && expected !== null && 'retryAfterMs' in expected) {
    const rest = (answer as { retryAfterMs?: number }).retryAfterMs ?? Number.NaN
    const most = expected.retryAfterMs as number
    expect(answer, step).toEqual({ ...expected, retryAfterMs: rest })
    expect(rest, step).toBeGreaterThan(most === 1 ? 0 : most - MINUTE)
    // A millisecond is rounded up.
    expect(rest, step).toBeLessThanOrEqual(most + 1)
  } else expect(answer, step).toEqual(expected)
}

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

        async function agree(history: StoreAction[]): Promise<void> {
          const model = createStoreModel()
          run += 1
          // The keys of a history are its own: the records of those before it are still there.
          const own = (key: string): string => `${run}/${key}`
          for (const [index, step] of history.entries()) {
            const label = `step ${index} of ${JSON.stringify(history.slice(0, index + 1))}`
            expectAlike(
              await perform(store, backend.advance, renamed(step, own)),
              perform(model, model.advance, step),
              label,
            )
          }
        }

        // Minutes where the model has seconds: a machine that stalls must not end a lease.
        const terms = { leaseMs: [30 * MINUTE], retainMs: [1_000 * MINUTE] }
        await fc.assert(fc.asyncProperty(storeHistories(terms, 60, MINUTE), agree), {
          numRuns: 60 * share,
        })
      })
    })
  }
}

function renamed(step: StoreAction, own: (key: string) => string): StoreAction {
  switch (step.do) {
    case 'claim':
      return { ...step, request: { ...step.request, key: own(step.request.key) } }
    case 'advance':
      return step
    default:
      return { ...step, lease: { ...step.lease, key: own(step.lease.key) } }
  }
}
