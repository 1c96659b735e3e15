import { within } from '../../src/internal.js'
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

type Member<Need extends InboxNeed> = NonNullable<InboxHarness<unknown>[Need]>

/** Defines a case by the deliveries that it makes, to an inbox with two connections. */
export function defineCase(
  id: string,
  name: string,
  act: (runner: InboxCaseRunner, inbox: Receiving) => Promise<void>,
): InboxCase {
  return { id, name, run: (harness) => runCase({ id, name }, harness, act) }
}

/** Defines a case that needs an optional member of the harness. */
export function caseNeeding<Need extends InboxNeed>(
  needs: Need,
  id: string,
  name: string,
  act: (runner: InboxCaseRunner, inbox: Receiving, member: Member<Need>) => Promise<void>,
): InboxCase {
  return {
    id,
    name,
    needs,
    async run(harness) {
      checkHarness(harness)
      const member = harness[needs]?.bind(harness) as Member<Need> | undefined
      if (member === undefined) return
      await runCase({ id, name }, harness, (runner, inbox) => act(runner, inbox, member))
    },
  }
}

async function runCase<Tx>(
  which: { id: string; name: string },
  harness: InboxHarness<Tx>,
  act: (runner: InboxCaseRunner, inbox: Receiving) => Promise<void>,
): Promise<void> {
  checkHarness(harness)
  const { timeoutMs = 10_000 } = harness
  const runner = createCaseRunner(which, harness as unknown as InboxHarness<unknown>)
  try {
    const acting = runner.open(2).then((inbox) => act(runner, inbox))
    await within(acting, timeoutMs, () => runner.fail(`it has not ended after ${timeoutMs / 1000} s`))
  } finally {
    runner.end()
  }
}
