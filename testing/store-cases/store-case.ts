import type { IdempotencyStore } from '../../src/index.js'
import { createCaseRunner, type StoreCaseRunner } from './case-runner.js'

/**
 * The store under test: how to create it, and how to make time pass for it.
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
   * Returns a store that is ready for use. All of them may share one backend, which need not be empty: each run makes new
   * keys. Close what you open.
   */
  create(): Promise<IdempotencyStore>
  /**
   * Makes `ms` milliseconds pass for all records: advances the clock that the store was given, or, if it uses the backend's
   * clock, moves the stored deadlines.
   */
  advance(ms: number): Promise<void>
}

/**
 * One requirement of every store. It contains no test runner, and runs wherever the store does.
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
  /** A sentence that begins with MUST, or with SHOULD if the receiver works without it. */
  readonly name: string
  /**
   * Creates a store and tests it. Run the cases one at a time if they share a backend: each makes time pass for all
   * records. There is no time limit.
   *
   * @throws TypeError when the harness is invalid
   * @throws Error when the case fails, with the expected and the actual answer, and the steps that led to it
   */
  run(harness: StoreHarness): Promise<void>
}

/** Defines a case by the steps that it runs on a store. */
export function defineCase(
  id: string,
  name: string,
  act: (runner: StoreCaseRunner) => Promise<void>,
): StoreCase {
  return {
    id,
    name,
    async run(harness) {
      checkHarness(harness)
      await act(createCaseRunner({ id, name }, await createStore(harness), harness))
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
