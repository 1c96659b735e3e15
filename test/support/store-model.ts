import fc from 'fast-check'
import type { StoreAction } from '../../testing/store-cases/model.js'

export {
  createStoreModel,
  perform,
  type StoreAction,
} from '../../testing/store-cases/model.js'

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
  const lease = fc.record({ key: fc.constantFrom('a', 'b', 'c'), token: fc.constantFrom('1', '2', '3', '4') })
  const leaseMs = fc.constantFrom(...terms.leaseMs)
  const retainMs = fc.constantFrom(...terms.retainMs)
  const claim = fc.record({ lease, leaseMs, retainMs }).map(({ lease, leaseMs, retainMs }) => ({
    do: 'claim' as const,
    request: { ...lease, leaseMs, retainMs: Math.max(leaseMs, retainMs) },
  }))
  const step: fc.Arbitrary<StoreAction> = fc.oneof(
    { weight: 3, arbitrary: claim },
    fc.record({ do: fc.constant('renew' as const), lease, leaseMs }),
    fc.record({ do: fc.constant('complete' as const), lease, retainMs }),
    fc.record({ do: fc.constant('release' as const), lease }),
    fc.record({
      do: fc.constant('advance' as const),
      ms: fc.constantFrom(...ADVANCES.map((units) => units * unitMs)),
    }),
  )
  return fc.array(step, { maxLength, size: 'max' })
}
