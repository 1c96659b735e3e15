/** @module-tag slow */
import fc from 'fast-check'
import { memoryStore } from 'tix-webhooks'
import { expect, test } from 'vitest'
import { createStoreModel, type StoreAction, send } from '../../../../testing/store-cases/transition.js'
import { runs } from '../../../support/runs.js'
import { storeHistories } from '../../../support/store-histories.js'

/** Runs a history on the store and on the model, and compares every answer in full. */
async function agree(history: StoreAction[]): Promise<void> {
  let now = 0
  const store = memoryStore({ now: () => now })
  const model = createStoreModel()
  for (const [index, step] of history.entries()) {
    const expected = model.perform(step)
    if (step.do === 'advance') {
      now += step.ms
      continue
    }
    const answer = await send(store, step)
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
