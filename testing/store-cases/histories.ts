import type { IdempotencyStore } from '../../src/index.js'
import type { ExpectedAnswer } from './answers.js'
import type { Step, StoreCaseRunner } from './case-runner.js'
import { createStoreModel, type StoreModel } from './model.js'
import { newSubject, type Subject, stepsOf } from './steps.js'
import { type StoreCase, test } from './store-case.js'

const HISTORIES = 20
const STEPS = 60

// A deadline is an odd multiple of five minutes after a call, and the clock advances by even ones. So each step is at least five
// minutes from a deadline, however long the history is, and the real time that it takes does not matter.
const LEASES = [35, 35, 35, 155]
const RETENTIONS = [1005, 1005, 1005, 205]
const PASSES = [10, 10, 30, 30, 40, 40, 200, 200, 990, 1100]
/** Of a token: `lease` and `kept` stand for one of these. */
const CALLS = ['claim lease kept', 'claim lease kept', 'renew lease', 'complete kept', 'release']

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

/** A random step of one of the subjects by one of the clients, without its answer. */
function randomStep(
  random: () => number,
  subjects: readonly Subject[],
  calls: readonly string[],
  ordinal: number,
): Step {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
  const call = pick([...calls, `+${pick(PASSES)}`, 'purge'])
    .replace('lease', `lease ${pick(LEASES)}`)
    .replace('kept', `kept ${pick(RETENTIONS)}`)
  const holder = pick(['a ', 'b ', 'c ', 'd '])
  const which = Math.floor(random() * subjects.length)
  const text = `${pick(['', '*'])}${/^(keep|discard|purge|\+)/.test(call) ? '' : holder}${call}`
  const [step] = stepsOf(text.replace('*+', '+'), [subjects[which] as Subject], ordinal)
  return { ...(step as Step), label: `${step?.label} of key ${which + 1}` }
}

/**
 * Random histories, for faults that no sequence foresees.
 *
 * @param more further calls than those of every store
 * @param check compares more than the answer, after each step
 */
export async function playHistories<Store extends IdempotencyStore>(
  runner: StoreCaseRunner<Store>,
  more: readonly string[] = [],
  check: (key: string, model: StoreModel) => Promise<void> = async () => {},
): Promise<void> {
  for (let seed = 1; seed <= HISTORIES; seed++) {
    runner.clearSteps()
    const random = randomSource(seed)
    const model = createStoreModel()
    const subjects = Array.from({ length: 3 }, () => newSubject())
    for (let count = 1; count <= STEPS; count++) {
      const step = randomStep(random, subjects, [...CALLS, ...more], count)
      const { action } = step
      if (action.do === 'purge') {
        await runner.run(step)
        continue
      }
      const answer = model.perform(action) ?? (action.do === 'discard' ? 'unknown' : undefined)
      await runner.run({ ...step, expected: answer as ExpectedAnswer | undefined })
      if ('key' in action) await check(action.key, model)
    }
  }
}

export const historyCases: readonly StoreCase[] = [
  test('histories: MUST answer every history as the model of the contract does.', (runner) =>
    playHistories(runner)),
]
