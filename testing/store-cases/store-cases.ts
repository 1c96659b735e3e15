import { historyCases } from './histories.js'
import { keyCases } from './keys.js'
import { raceCases } from './races.js'
import { sequenceCases } from './sequences.js'
import type { StoreCase } from './store-case.js'

/**
 * The conformance cases of idempotency stores, whatever their backend. They contain no test runner and never sleep: loop over them in the
 * runner that you have. Together they make about 2,400 calls.
 *
 * @example
 * ```ts
 * import test from 'node:test'
 * import { memoryStore } from 'tix-webhooks'
 * import { storeCases } from 'tix-webhooks/testing'
 *
 * let now = 0
 * const create = async () => memoryStore({ now: () => now })
 * const advance = async (ms: number) => void (now += ms)
 *
 * for (const { name, run } of storeCases) test(name, () => run({ create, advance }))
 * ```
 */
export const storeCases: readonly StoreCase[] = [...sequenceCases, ...keyCases, ...raceCases, ...historyCases]
