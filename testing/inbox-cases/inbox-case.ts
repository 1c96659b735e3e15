import { isLedger, within } from '../../src/internal.js'
import { titleOf } from '../store-cases/steps.js'
import { createCaseRunner, type InboxCaseRunner, type Receiving } from './case-runner.js'
import { checkHarness, type InboxHarness, type InboxNeed } from './harness.js'

/**
 * One requirement of every inbox. It contains no test runner, and runs wherever the inbox does.
 *
 * @example
 * ```ts
 * import { type InboxCase, type InboxHarness, inboxCases } from 'tix-webhooks/testing'
 *
 * export async function failures<Tx>(harness: InboxHarness<Tx>): Promise<InboxCase[]> {
 *   const failed: InboxCase[] = []
 *   for (const one of inboxCases) await one.run(harness).catch(() => failed.push(one))
 *   return failed
 * }
 * ```
 */
export interface InboxCase {
  /** Stays the same when the name is worded better. */
  readonly id: string
  /** A sentence that begins with MUST, or with SHOULD if the receiver works without it. */
  readonly name: string
  /** The member of the harness without which the case tests nothing: a test runner can show the case as skipped if it is null. */
  readonly needs?: InboxNeed | undefined
  /**
   * Creates inboxes and tests them. Run the cases one at a time: they cut each other's connections.
   *
   * @throws TypeError when the harness is invalid
   * @throws Error when the case fails, with the expected and the actual end, and the deliveries that led to it
   */
  run<Tx>(harness: InboxHarness<Tx>): Promise<void>
}

/** The parts of a case: its runner, an inbox with two connections, and the members of the harness that the case needs. */
export interface InboxCaseParts extends InboxCaseRunner, Receiving {
  readonly harness: { readonly [Need in InboxNeed]: NonNullable<InboxHarness<unknown>[Need]> }
}

/**
 * Defines a case. Called so because a formatter leaves the title of a test on one line.
 *
 * @param title `id: name`; between them, in brackets, what the case needs: optional members of the harness, and `ledger` for an inbox that is one.
 * Without these it tests nothing
 */
export function test(title: string, act: (runner: InboxCaseParts) => Promise<void>): InboxCase {
  const { id: head, name } = titleOf(title)
  const [id = '', ...wanted] = head.match(/[\w-]+/g) ?? []
  const isOfLedger = wanted.includes('ledger')
  const needs = wanted.find((one): one is InboxNeed => one !== 'ledger')
  return {
    id,
    name,
    ...(needs && { needs }),
    async run(harness) {
      checkHarness(harness)
      if (needs !== undefined && harness[needs] === null) return
      const { timeoutMs = 10_000 } = harness
      const runner = createCaseRunner({ id, name }, harness as unknown as InboxHarness<unknown>)
      const acting = async (): Promise<void> => {
        const inbox = await runner.open(2)
        if (isOfLedger && !isLedger(inbox.inbox)) return
        await act({ ...runner, ...inbox, harness: harness as unknown as InboxCaseParts['harness'] })
      }
      try {
        await within(acting(), timeoutMs, () => runner.fail(`it has not ended after ${timeoutMs / 1000} s`))
      } finally {
        runner.end()
      }
    },
  }
}
