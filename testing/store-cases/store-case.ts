import type { IdempotencyStore, Purgeable } from '../../src/index.js'
import { MINUTE_MS } from './answers.js'
import { createCaseRunner, type StoreCaseRunner } from './case-runner.js'
import { casesIn, stepsOf, titleOf } from './steps.js'

/**
 * The store under test: how to create clients of its backend, and how to make time pass for it.
 *
 * @typeParam Store a `LedgerStore` for `ledgerCases`
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
export interface StoreHarness<Store extends IdempotencyStore = IdempotencyStore> {
  /**
   * Returns a store that is ready for use. All of them may share one backend, which need not be empty: each run makes new
   * keys. Close what you open.
   */
  create(): Promise<Store>
  /**
   * Returns a store over another client of the backend that `create` used last, as another process has it. Some of the calls are made on
   * it, in some cases with a `Date` that is four minutes ahead or behind. Left out only if the store is volatile (`isVolatile`): no other
   * process reaches its records.
   */
  createSecond?(): Promise<Store>
  /**
   * Deletes what is past its retention, as your app does it; it may resolve to anything. Default: the `purge` of the store. Without both, the
   * cases of a purge test nothing.
   */
  purge?(): Promise<unknown>
  /**
   * Makes `ms` milliseconds pass for all records: advances the clock that the stores were given, one for both clients, or, if they use the
   * backend's clock, moves all stored dates back.
   */
  advance(ms: number): Promise<void>
}

/**
 * One requirement of every store. It contains no test runner, and runs wherever the store does.
 *
 * @typeParam Store a `LedgerStore` for `ledgerCases`
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
export interface StoreCase<Store extends IdempotencyStore = IdempotencyStore> {
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
  run(harness: StoreHarness<Store>): Promise<void>
}

const METHODS: readonly string[] = ['claim', 'renew', 'complete', 'release']

/** Defines a case by its id and name, the steps that it runs on a store, and how far the clock of the second client's process is ahead. */
type DefineCase<Store extends IdempotencyStore> = (
  title: string,
  act: (runner: StoreCaseRunner<Store>) => Promise<void>,
  skewMinutes?: number,
) => StoreCase<Store>

/** Makes the cases of stores with more methods than those of every store. */
export function casesOf<Store extends IdempotencyStore>(more: readonly string[]): DefineCase<Store> {
  const methods = [...METHODS, ...more]

  async function created(harness: StoreHarness<Store>, which: 'create' | 'createSecond'): Promise<Store> {
    const store = (await harness[which]?.()) as Store & Readonly<Record<string, unknown>>
    for (const name of methods) {
      if (name === 'ledger' ? typeof store?.[name] === 'object' : typeof store?.[name] === 'function')
        continue
      throw new TypeError(
        `The harness's ${which}() resolved to something without ${name}: it must resolve to ${more.length > 0 ? 'a LedgerStore' : 'an IdempotencyStore'} (${methods.join(', ')}).`,
      )
    }
    return store
  }

  async function createSecond(harness: StoreHarness<Store>, first: Store): Promise<Store> {
    if (harness.createSecond === undefined) {
      if (first.isVolatile === true) return first
      throw new TypeError(
        'The harness has no createSecond function: add one that resolves to a store over another client of the same backend. Only a store whose records end with the process needs none, and says so by isVolatile: true.',
      )
    }
    const second = await created(harness, 'createSecond')
    if (second !== first) return second
    throw new TypeError(
      "The harness's createSecond() resolved to the store of create(): it must make another.",
    )
  }

  return (title, act, skewMinutes = 0) => {
    const titled = titleOf(title)
    return {
      ...titled,
      async run(harness) {
        checkHarness(harness)
        const first: Store & Partial<Purgeable> = await created(harness, 'create')
        const clients = {
          first,
          createSecond: () => createSecond(harness, first),
          advance: (ms: number) => harness.advance(ms),
          purge: harness.purge?.bind(harness) ?? first.purge?.bind(first),
          skewMs: skewMinutes * MINUTE_MS,
        }
        await act(createCaseRunner<Store>(titled, clients))
      },
    }
  }
}

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

/** Defines a case. Called so because a formatter leaves the title of a test on one line. */
export const test: DefineCase<IdempotencyStore> = casesOf<IdempotencyStore>([])

/** A case that is a sequence of steps, on one key or two. */
export function sequence(title: string, steps: string, skewMinutes = 0): StoreCase {
  return test(title, (runner) => runner.runAll(stepsOf(steps)), skewMinutes)
}

/** A table of them. */
export function sequences(table: string): StoreCase[] {
  return casesIn(table, (title, [steps = '']) => sequence(title, steps))
}
