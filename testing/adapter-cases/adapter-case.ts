import { startTrial, type Trial } from './case-runner.js'
import type { AdapterHarness } from './harness.js'

/**
 * One thing that every adapter must do. It contains no test runner, and runs wherever the adapter does.
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
  /** A sentence that begins with MUST, or with SHOULD where no delivery is lost or forged by it. */
  readonly name: string
  /**
   * Mounts the adapter and puts it to the test; closes what it mounted, however it ends.
   *
   * @throws TypeError when the harness is not one
   * @throws Error when the case fails, with what was expected and what came
   */
  run(harness: AdapterHarness): Promise<void>
}

/** A case from what it does to an adapter. */
export function defineCase(id: string, name: string, act: (trial: Trial) => Promise<void>): AdapterCase {
  return {
    id,
    name,
    async run(harness) {
      checkHarness(harness)
      const trial = startTrial({ id, name }, harness)
      try {
        await act(trial)
      } catch (failure) {
        // What the case found comes first: an app that does not answer may not end either.
        await trial.close().catch(() => {})
        throw failure
      }
      await trial.close()
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
