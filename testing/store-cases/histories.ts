import type { Move } from './case-runner.js'
import type { Expected } from './expected-answer.js'
import { createStoreModel, play } from './model.js'
import { holder, newKey, newToken, pass } from './sequence.js'
import { defineCase, type StoreCase } from './store-case.js'

const HISTORIES = 20
const STEPS = 60

// A deadline is an odd number of five minutes after a call, and the clock moves by even ones. So a step is never closer to
// a deadline than five minutes, however long a history is, and the time that it takes by itself changes nothing.
const LEASES = [35, 35, 35, 155]
const RETENTIONS = [1005, 1005, 1005, 205]
const PASSES = [10, 10, 30, 30, 40, 40, 200, 200, 990, 1100]

/** A random source that gives the same numbers for a seed, everywhere (mulberry32). */
function randomSource(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A step of one of 3 keys and 4 tokens, without what it must answer. */
function randomMove(random: () => number, keys: readonly string[], tokens: readonly string[]): Move {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
  const key = pick(keys)
  const token = pick(tokens)
  const name = `${'abcd'[tokens.indexOf(token)]} of key ${keys.indexOf(key) + 1}`
  const one = holder(name, key, token)
  const lease = pick(LEASES)
  const kept = pick(RETENTIONS)
  return pick([
    () => one.claims(undefined, { lease, kept }),
    () => one.claims(undefined, { lease, kept }),
    () => one.renews(undefined, lease),
    () => one.completes(undefined, kept),
    () => one.releases(undefined),
    () => pass(pick(PASSES)),
  ])()
}

/** What no story foresees. */
export const historyCases: readonly StoreCase[] = [
  defineCase('histories', 'MUST answer every history as the model of the contract does.', async (trial) => {
    for (let seed = 1; seed <= HISTORIES; seed++) {
      trial.turnPage()
      const random = randomSource(seed)
      const model = createStoreModel()
      const keys = Array.from({ length: 3 }, () => newKey())
      const tokens = Array.from({ length: 4 }, () => newToken())
      for (let step = 0; step < STEPS; step++) {
        const move = randomMove(random, keys, tokens)
        const expected = play(model, model.advance, move.step) as Expected | undefined
        await trial.take({ ...move, expected })
      }
    }
  }),
]
