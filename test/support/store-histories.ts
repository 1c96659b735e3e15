import fc from 'fast-check'
import type { IdempotencyStore } from 'tix-webhooks'
import { type ExpectedAnswer, meets } from '../../testing/store-cases/expected-answer.js'
import { createStoreModel, type StoreAction, send } from '../../testing/store-cases/transition.js'

/** Times around a lease of 30 and a retention of 1000: just before, just after, and well between them. */
const ADVANCES = [1, 29, 31, 200, 990, 1100]

/**
 * Histories of 3 keys and 4 tokens. They must be long: short ones missed stores that dropped a record whose retention a second
 * `complete` had moved.
 *
 * @param terms the leases and retentions of each call; a retention is never shorter than the lease
 * @param unitMs the unit of passing time: a lease of 30 of them is nearly over, just over, and long over
 */
export function storeHistories(
  terms: { leaseMs: readonly number[]; retainMs: readonly number[] },
  maxLength = 60,
  unitMs = 1_000,
): fc.Arbitrary<StoreAction[]> {
  const key = fc.constantFrom('a', 'b', 'c')
  const token = fc.constantFrom('1', '2', '3', '4')
  const leaseMs = fc.constantFrom(...terms.leaseMs)
  const retainMs = fc.constantFrom(...terms.retainMs)
  const claim = fc
    .record({ do: fc.constant('claim' as const), key, token, leaseMs, retainMs })
    .map((call) => ({ ...call, retainMs: Math.max(call.leaseMs, call.retainMs) }))
  const step: fc.Arbitrary<StoreAction> = fc.oneof(
    { weight: 3, arbitrary: claim },
    fc.record({ do: fc.constant('renew' as const), key, token, leaseMs }),
    fc.record({ do: fc.constant('complete' as const), key, token, retainMs }),
    fc.record({ do: fc.constant('release' as const), key, token }),
    fc.record({
      do: fc.constant('advance' as const),
      ms: fc.constantFrom(...ADVANCES.map((units) => units * unitMs)),
    }),
  )
  return fc.array(step, { maxLength, size: 'max' })
}

/**
 * Plays a history on a store with a clock of its own, and on the model.
 *
 * @param prefix of its keys: the records of other histories are still there
 * @throws Error at the first answer that differs
 */
export async function expectModelAnswers(
  store: IdempotencyStore,
  advance: (ms: number) => Promise<void>,
  history: readonly StoreAction[],
  prefix: string,
): Promise<void> {
  const model = createStoreModel()
  for (const [index, step] of history.entries()) {
    const expected = model.perform(step)
    if (step.do === 'advance') await advance(step.ms)
    else {
      const answer = await send(store, { ...step, key: `${prefix}/${step.key}` })
      if (meets(answer, expected as ExpectedAnswer)) continue
      throw new Error(
        `step ${index} of ${JSON.stringify(history.slice(0, index + 1))}: ${JSON.stringify(answer)} instead of ${JSON.stringify(expected)}`,
      )
    }
  }
}
