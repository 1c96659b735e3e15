import { titleOf } from '../store-cases/steps.js'
import { type AdapterCaseRunner, createCaseRunner } from './case-runner.js'
import type { AdapterHarness } from './harness.js'

/**
 * One requirement of every adapter. It contains no test runner, and runs wherever the adapter does.
 *
 * @example
 * ```ts
 * import { type AdapterCase, type AdapterHarness, adapterCases } from 'tix-webhooks/testing'
 *
 * export async function failures(harness: AdapterHarness): Promise<AdapterCase[]> {
 *   const failed: AdapterCase[] = []
 *   for (const one of adapterCases) await one.run(harness).catch(() => failed.push(one))
 *   return failed
 * }
 * ```
 */
export interface AdapterCase {
  /** Stays the same when the name is worded better. */
  readonly id: string
  /** A sentence that begins with MUST, or with SHOULD if no delivery is lost or forged without it. */
  readonly name: string
  /**
   * Mounts the adapter, tests it, and closes what it mounted, even if the case fails.
   *
   * @throws TypeError when the harness is invalid
   * @throws Error when the case fails, with the expected and the actual answer
   */
  run(harness: AdapterHarness): Promise<void>
}

/** Defines a case by its id and name, and its steps. Called so because a formatter leaves the title of a test on one line. */
export function test(title: string, act: (runner: AdapterCaseRunner) => Promise<void>): AdapterCase {
  const titled = titleOf(title)
  return {
    ...titled,
    async run(harness) {
      checkHarness(harness)
      const runner = createCaseRunner(titled, harness)
      try {
        await act(runner)
      } catch (failure) {
        // The case's own failure matters more: an app that does not answer may not close either.
        await runner.close().catch(() => {})
        throw failure
      }
      await runner.close()
    },
  }
}

function checkHarness(harness: AdapterHarness): void {
  if (typeof harness?.mount !== 'function') {
    throw new TypeError(
      'The harness has no mount function: pass { mount }, where mount(options) resolves to { send, close }, an app with the adapter.',
    )
  }
  const { timeoutSeconds = 1 } = harness
  if (typeof timeoutSeconds === 'number' && timeoutSeconds > 0) return
  throw new TypeError("The harness's timeoutSeconds must be a number of seconds above 0.")
}
