import { contentCases } from './contents.js'
import type { FailureCase } from './failure-case.js'
import { groupingCases } from './grouping.js'
import { keepingCases, parkingCases } from './keeping.js'
import { listingCases } from './listing.js'
import { purgingCases } from './purging.js'
import { raceCases } from './races.js'
import { refusalCases } from './refusals.js'

/**
 * The conformance cases of the option `failures`, whatever its backend. They contain no test runner and never sleep: loop over them in
 * the runner that you have. Together they make about 800 calls.
 *
 * @example
 * ```ts
 * import test from 'node:test'
 * import { memoryFailures } from 'tix-webhooks'
 * import { failureCases } from 'tix-webhooks/testing'
 *
 * for (const { name, run } of failureCases) test(name, () => run({ create: async () => memoryFailures() }))
 * ```
 */
export const failureCases: readonly FailureCase[] = [
  ...keepingCases,
  ...parkingCases,
  ...contentCases,
  ...listingCases,
  ...groupingCases,
  ...purgingCases,
  ...raceCases,
  ...refusalCases,
]
