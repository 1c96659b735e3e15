import { contentCases } from './contents.js'
import type { LedgerCase } from './ledger-case.js'
import { listingCases } from './listing.js'
import { raceCases } from './races.js'
import { ruleCases } from './rules.js'

/**
 * The conformance cases of a store that keeps failures too, beside `storeCases`. They contain no test runner and never sleep: loop over them in the
 * runner that you have. Together they make about 4,500 calls.
 *
 * @example
 * ```ts
 * import test from 'node:test'
 * import { memoryStore } from 'tix-webhooks'
 * import { ledgerCases } from 'tix-webhooks/testing'
 *
 * let now = 0
 * const create = async () => memoryStore({ now: () => now })
 * const advance = async (ms: number) => void (now += ms)
 *
 * for (const { name, run } of ledgerCases) test(name, () => run({ create, advance }))
 * ```
 */
export const ledgerCases: readonly LedgerCase[] = [
  ...ruleCases,
  ...contentCases,
  ...listingCases,
  ...raceCases,
]
