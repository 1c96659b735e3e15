import type { Failures } from '../../src/index.js'
import { createCaseRunner, type FailureCaseRunner } from './case-runner.js'

/**
 * The failures under test: how to create a client of their backend.
 *
 * @example
 * ```ts
 * import { memoryFailures } from 'tix-webhooks'
 * import type { FailureHarness } from 'tix-webhooks/testing'
 *
 * const failures = memoryFailures()
 * export const harness: FailureHarness = {
 *   create: async () => failures,
 *   purge: (options) => failures.purge(options),
 * }
 * ```
 */
export interface FailureHarness {
  /**
   * Returns failures that are ready for use. All of them may share one backend, which need not be empty: each run has its own namespace.
   * Close what you open.
   */
  create(): Promise<Failures>
  /** Returns failures over another client of the same backend, for the races. Without it they are all run on one client. */
  createSecond?(): Promise<Failures>
  /**
   * Deletes at most `limit` failures of the backend that last failed more than 30 days ago, oldest first, and returns their number. Without
   * it the cases of a purge test nothing.
   */
  purge?(options: { readonly limit: number }): Promise<number>
}

/**
 * One requirement of all failures. It contains no test runner, and runs wherever the failures do.
 *
 * @example
 * ```ts
 * import { type FailureCase, type FailureHarness, failureCases } from 'tix-webhooks/testing'
 *
 * export async function faults(harness: FailureHarness): Promise<FailureCase[]> {
 *   const failed: FailureCase[] = []
 *   for (const one of failureCases) await one.run(harness).catch(() => failed.push(one))
 *   return failed
 * }
 * ```
 */
export interface FailureCase {
  /** Stays the same when the name is worded better. */
  readonly id: string
  /** A sentence that begins with MUST, or with SHOULD if the receiver works without it. */
  readonly name: string
  /**
   * Creates failures and tests them. Run the cases one at a time if they share a backend: a purge deletes from all of it. There is no
   * time limit.
   *
   * @throws TypeError when the harness is invalid
   * @throws Error when the case fails, with the expected and the actual answer, and the calls that led to it
   */
  run(harness: FailureHarness): Promise<void>
}

/** Defines a case by the calls that it makes. */
export function defineCase(
  id: string,
  name: string,
  act: (runner: FailureCaseRunner, harness: FailureHarness) => Promise<void>,
): FailureCase {
  return {
    id,
    name,
    async run(harness) {
      checkHarness(harness)
      const failures = await created(harness, 'create')
      const second = harness.createSecond === undefined ? failures : await created(harness, 'createSecond')
      await act(createCaseRunner({ id, name }, failures, second), harness)
    },
  }
}

const METHODS = ['keep', 'get', 'delete', 'list', 'groups', 'count'] as const

function checkHarness(harness: FailureHarness): void {
  if (typeof harness?.create !== 'function') {
    throw new TypeError(
      'The harness has no create function: pass { create }, where create() resolves to Failures; createSecond and purge are optional.',
    )
  }
  for (const name of ['createSecond', 'purge'] as const) {
    if (harness[name] === undefined || typeof harness[name] === 'function') continue
    throw new TypeError(`The harness's ${name} must be a function, or absent.`)
  }
}

async function created(harness: FailureHarness, which: 'create' | 'createSecond'): Promise<Failures> {
  const failures = await harness[which]?.()
  for (const name of METHODS) {
    if (typeof failures?.[name] === 'function') continue
    throw new TypeError(
      `The harness's ${which}() resolved to something without a ${name} function: it must resolve to Failures (${METHODS.join(', ')}).`,
    )
  }
  return failures as Failures
}
