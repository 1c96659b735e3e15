/** @module-tag slow */
import fc from 'fast-check'
import { memoryStore } from 'tix-webhooks'
import { expect, test } from 'vitest'
import { createStoreModel, type StoreAction, send } from '../../../../testing/store-cases/transition.js'
import { runs } from '../../../support/runs.js'

/** Times around a lease of 30 s and a retention of 1000 s: just before, just after, and well between them. */
const ADVANCES = [1, 29, 31, 200, 990, 1100].map((seconds) => seconds * 1000)

/**
 * Histories of 3 keys and 4 tokens. They must be long: short ones missed stores that dropped a record whose retention a second
 * `complete` had moved.
 *
 * @param leases of each call, and their retentions; a retention is never shorter than the lease
 */
function storeHistories(leases: number[], retentions: number[], maxLength: number) {
  const key = fc.constantFrom('a', 'b', 'c')
  const token = fc.constantFrom('1', '2', '3', '4')
  const leaseMs = fc.constantFrom(...leases)
  const retainMs = fc.constantFrom(...retentions)
  const claim = fc
    .record({ do: fc.constant('claim' as const), key, token, leaseMs, retainMs })
    .map((call) => ({ ...call, retainMs: Math.max(call.leaseMs, call.retainMs) }))
  const step: fc.Arbitrary<StoreAction> = fc.oneof(
    { weight: 3, arbitrary: claim },
    fc.record({ do: fc.constant('renew' as const), key, token, leaseMs }),
    fc.record({ do: fc.constant('complete' as const), key, token, retainMs }),
    fc.record({ do: fc.constant('release' as const), key, token }),
    fc.record({ do: fc.constant('advance' as const), ms: fc.constantFrom(...ADVANCES) }),
  )
  return fc.array(step, { maxLength, size: 'max' })
}

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

test.each([
  ['one lease and one retention', [30_000], [1_000_000], 60],
  [
    'a lease and a retention of each call',
    [1, 1_000, 30_000, 300_000],
    [1, 30_000, 200_000, 1_000_000, 5_000_000],
    150,
  ],
])('the store answers every history as the model does, with %s', async (_, leases, retentions, maxLength) => {
  const histories = storeHistories(leases, retentions, maxLength)
  await fc.assert(fc.asyncProperty(histories, agree), { numRuns: runs(400) })
})
