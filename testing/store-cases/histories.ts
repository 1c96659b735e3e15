import type { Step } from './case-runner.js'
import { advance, holder, newKey, newToken, onSecond, purge } from './sequence.js'
import { defineCase, type StoreCase } from './store-case.js'
import { createStoreModel } from './transition.js'

const HISTORIES = 20
const STEPS = 60

// A deadline is an odd multiple of five minutes after a call, and the clock advances by even ones. So each step is at least five
// minutes from a deadline, however long the history is, and the real time that it takes does not matter.
const LEASES = [35, 35, 35, 155]
const RETENTIONS = [1005, 1005, 1005, 205]
const PASSES = [10, 10, 30, 30, 40, 40, 200, 200, 990, 1100]

/** A random source with the same numbers for a seed on every runtime (mulberry32). */
function randomSource(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A random step of one of the keys and tokens by one of the clients, without its answer. */
function randomStep(random: () => number, keys: readonly string[], tokens: readonly string[]): Step {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
  const key = pick(keys)
  const token = pick(tokens)
  const name = `${'abcd'[tokens.indexOf(token)]} of key ${keys.indexOf(key) + 1}`
  const one = holder(name, key, token)
  const lease = pick(LEASES)
  const kept = pick(RETENTIONS)
  const step = pick([
    () => one.claims(undefined, { lease, kept }),
    () => one.claims(undefined, { lease, kept }),
    () => one.renews(undefined, lease),
    () => one.completes(undefined, kept),
    () => one.releases(undefined),
    () => advance(pick(PASSES)),
    () => purge,
  ])()
  return pick([step, onSecond(step)])
}

/** Random histories, for faults that no sequence foresees. */
export const historyCases: readonly StoreCase[] = [
  defineCase('histories', 'MUST answer every history as the model of the contract does.', async (runner) => {
    for (let seed = 1; seed <= HISTORIES; seed++) {
      runner.clearSteps()
      const random = randomSource(seed)
      const model = createStoreModel()
      const keys = Array.from({ length: 3 }, () => newKey())
      const tokens = Array.from({ length: 4 }, () => newToken())
      for (let count = 0; count < STEPS; count++) {
        const step = randomStep(random, keys, tokens)
        const { action } = step
        await runner.run({ ...step, expected: action.do === 'purge' ? undefined : model.perform(action) })
      }
    }
  }),
]
