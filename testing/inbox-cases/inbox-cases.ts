import { endCases } from './ends.js'
import { failureCases } from './failures.js'
import type { InboxCase } from './inbox-case.js'
import { lostCases } from './lost.js'
import { outlivingCases } from './outliving.js'
import { overlapCases } from './overlap.js'
import { recordCases } from './records.js'

/**
 * The conformance cases of inboxes, whatever their database. They contain no test runner and never sleep: loop over them in the runner
 * that you have. Together they make about 380 deliveries.
 *
 * @example
 * ```ts
 * import test from 'node:test'
 * import { type InboxHarness, inboxCases } from 'tix-webhooks/testing'
 *
 * declare const harness: InboxHarness<unknown> // yours, as in the example of InboxHarness
 * for (const { name, needs, run } of inboxCases) {
 *   test(name, { skip: needs !== undefined && harness[needs] === null }, () => run(harness))
 * }
 * ```
 */
export const inboxCases: readonly InboxCase[] = [
  ...endCases,
  ...overlapCases,
  ...outlivingCases,
  ...lostCases,
  ...recordCases,
  ...failureCases,
]
