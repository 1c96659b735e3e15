/** @module-tag slow */
import fc from 'fast-check'
import { memoryStore } from 'tix-webhooks'
import { expect, test } from 'vitest'
import { runs } from '../../../support/runs.js'
import { createStoreModel, perform, type StoreAction, storeHistories } from '../../../support/store-model.js'

/** Runs a history on the store and on the model, and compares every answer in full. */
async function agree(history: StoreAction[]): Promise<void> {
  let now = 0
  const store = memoryStore({ now: () => now })
  const model = createStoreModel()
  for (const [index, step] of history.entries()) {
    const expected = perform(model, model.advance, step)
    const answer = await perform(
      store,
      (ms) => {
        now += ms
      },
      step,
    )
    expect(answer, `step ${index}: ${JSON.stringify(step)}`).toEqual(expected)
  }
}

test('the store answers every history as the model does', async () => {
  const terms = { leaseMs: [30_000], retainMs: [1_000_000] }
  await fc.assert(fc.asyncProperty(storeHistories(terms), agree), { numRuns: runs(500) })
})

test('the store answers as the model does when each call brings its own lease and retention', async () => {
  const terms = { leaseMs: [1, 1_000, 30_000, 300_000], retainMs: [1, 30_000, 200_000, 1_000_000, 5_000_000] }
  await fc.assert(fc.asyncProperty(storeHistories(terms, 150), agree), { numRuns: runs(200) })
})
