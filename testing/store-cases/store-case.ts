import type { IdempotencyStore } from '../../src/index.js'
import { createCaseRunner, type StoreCaseRunner } from './case-runner.js'

/**
 * The store under test: how to create clients of its backend, and how to make time pass for it.
 *
 * @example
 * ```ts
 * import { memoryStore } from 'tix-webhooks'
 * import type { StoreHarness } from 'tix-webhooks/testing'
 *
 * let now = 0
 * export const harness: StoreHarness = {
 *   create: async () => memoryStore({ now: () => now }), // which needs no createSecond: it is volatile
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
   * Returns a store over another client of the backend that `create` used last, as another process has it. Some of the calls are made on
   * it, in some cases with a `Date` that is four minutes ahead or behind. Left out only if the store is volatile (`isVolatile`): no other
   * process reaches its records.
   */
  createSecond?(): Promise<IdempotencyStore>
  /**
   * Deletes what is past its retention, as your app does it; it may resolve to anything. Default: the `purge` of the store. Without both, the
   * cases of a purge test nothing.
   */
  purge?(): Promise<unknown>
  /**
   * Makes `ms` milliseconds pass for all records: advances the clock that the stores were given, one for both clients, or, if they use the
   * backend's clock, moves the stored deadlines.
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
   * Creates a store and tests it. Run the cases one at a time if they share a backend: each makes time pass for all records, and the
   * cases about clocks replace `Date` for a while. There is no time limit.
   *
   * @throws TypeError when the harness is invalid, or has no `createSecond` for a store that is not volatile
   * @throws Error when the case fails, with the expected and the actual answer, and the steps that led to it
   */
  run(harness: StoreHarness): Promise<void>
}

/** Defines a case by the steps that it runs on a store, and by how far the clock of the second client's process is ahead. */
export function defineCase(
  id: string,
  name: string,
  act: (runner: StoreCaseRunner) => Promise<void>,
  skewMs = 0,
): StoreCase {
  return {
    id,
    name,
    async run(harness) {
      checkHarness(harness)
      const first = await created(harness, 'create')
      const clients = { first, createSecond: () => createSecond(harness, first), harness, skewMs }
      await act(createCaseRunner({ id, name }, clients))
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
  for (const name of ['createSecond', 'purge'] as const) {
    if (harness[name] === undefined || typeof harness[name] === 'function') continue
    throw new TypeError(`The harness's ${name} must be a function, or absent.`)
  }
}

async function createSecond(harness: StoreHarness, first: IdempotencyStore): Promise<IdempotencyStore> {
  if (harness.createSecond === undefined) {
    if (first.isVolatile === true) return first
    throw new TypeError(
      'The harness has no createSecond function: add one that resolves to a store over another client of the same backend. Only a store whose records end with the process needs none, and says so by isVolatile: true.',
    )
  }
  const second = await created(harness, 'createSecond')
  if (second !== first) return second
  throw new TypeError("The harness's createSecond() resolved to the store of create(): it must make another.")
}

async function created(harness: StoreHarness, which: 'create' | 'createSecond'): Promise<IdempotencyStore> {
  const store = await harness[which]?.()
  for (const name of METHODS) {
    if (typeof store?.[name] === 'function') continue
    throw new TypeError(
      `The harness's ${which}() resolved to something without a ${name} function: it must resolve to an IdempotencyStore (${METHODS.join(', ')}).`,
    )
  }
  return store as IdempotencyStore
}
