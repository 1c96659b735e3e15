import type { IdempotencyStore } from '../../src/index.js'
import { startTrial, type Trial } from './case-runner.js'

/**
 * What the conformance cases need of a store: how to make one, and how to let its time pass.
 *
 * @example
 * ```ts
 * import { memoryStore } from 'tix-webhooks'
 * import type { StoreHarness } from 'tix-webhooks/testing'
 *
 * let now = 0
 * export const harness: StoreHarness = {
 *   create: async () => memoryStore({ now: () => now }),
 *   advance: async (ms) => {
 *     now += ms
 *   },
 * }
 * ```
 */
export interface StoreHarness {
  /**
   * Gives a store that works. All that it gives may share one backend, which need not be empty: each run makes keys of
   * its own. Closing what it opened is yours.
   */
  create(): Promise<IdempotencyStore>
  /**
   * Makes `ms` milliseconds pass for every record there is: moves the clock that the store was given, or, where it uses
   * the backend's, moves the deadlines that are stored.
   */
  advance(ms: number): Promise<void>
}

/**
 * One thing that every store must do. It contains no test runner, and runs wherever the store does.
 *
 * @example
 * ```ts
 * import { type StoreCase, type StoreHarness, storeCases } from 'tix-webhooks/testing'
 *
 * export async function failures(harness: StoreHarness): Promise<StoreCase[]> {
 *   const failed: StoreCase[] = []
 *   for (const one of storeCases) await one.run(harness).catch(() => failed.push(one))
 *   return failed
 * }
 * ```
 */
export interface StoreCase {
  /** Stays the same when the name is worded better. */
  readonly id: string
  /** A sentence that begins with MUST, or with SHOULD where the receiver works all the same. */
  readonly name: string
  /**
   * Creates a store and puts it to the test. Run one case at a time where they share a backend: each makes time pass for
   * all records. It has no time limit of its own.
   *
   * @throws TypeError when the harness is not one
   * @throws Error when the case fails, with what was expected, what came, and the steps that led to it
   */
  run(harness: StoreHarness): Promise<void>
}

/** A case from what it does to a store. */
export function defineCase(id: string, name: string, act: (trial: Trial) => Promise<void>): StoreCase {
  return {
    id,
    name,
    async run(harness) {
      checkHarness(harness)
      await act(startTrial({ id, name }, await createStore(harness), harness))
    },
  }
}

const METHODS = ['claim', 'renew', 'complete', 'release'] as const

function checkHarness(harness: StoreHarness): void {
  for (const name of ['create', 'advance'] as const) {
    if (typeof harness?.[name] === 'function') continue
    throw new TypeError(
      `The harness has no ${name} function: pass { create, advance }, where create() resolves to a store and advance(ms) makes time pass for it.`,
    )
  }
}

async function createStore(harness: StoreHarness): Promise<IdempotencyStore> {
  const store = await harness.create()
  for (const name of METHODS) {
    if (typeof store?.[name] === 'function') continue
    throw new TypeError(
      `The harness's create() resolved to something without a ${name} function: it must resolve to an IdempotencyStore (${METHODS.join(', ')}).`,
    )
  }
  return store
}
