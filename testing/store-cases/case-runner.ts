import type { IdempotencyStore } from '../../src/index.js'
import { describeAnswer, describeExpected, type ExpectedAnswer, meets } from './expected-answer.js'
import { perform, type StoreAction } from './model.js'

/** A step of a case: an action, and the answer that the store owes. */
export interface Step {
  /** The step in words, for the message of a failure. */
  readonly label: string
  readonly action: StoreAction
  /** Undefined if time passes, or if the case judges the answer itself. */
  readonly expected?: ExpectedAnswer | undefined
}

/** A failure of a long history lists only its last steps. */
const MAX_LISTED_STEPS = 70

/** Runs the steps of one case on one store, and lists them when the case fails. */
export interface StoreCaseRunner {
  /** Runs the step, and fails unless the answer is the expected one. Returns the answer. */
  run(step: Step): Promise<unknown>
  /** Runs all steps at the same time, and returns the answers in the same order. */
  runTogether(steps: readonly Step[]): Promise<unknown[]>
  /** Runs a step that the store may refuse: returns its answer, or undefined when it rejects. */
  attempt(step: Step): Promise<{ readonly value: unknown } | undefined>
  /** @throws Error always */
  fail(message: string): never
  /** Drops the steps so far from the list, if the following ones do not depend on them. */
  clearSteps(): void
}

export function createCaseRunner(
  { id, name }: { id: string; name: string },
  store: IdempotencyStore,
  { advance }: { advance(ms: number): Promise<void> },
): StoreCaseRunner {
  let lines: string[] = []

  /** @throws whatever the store throws or rejects with */
  async function answerTo({ label, action }: Step): Promise<unknown> {
    const index = lines.push(label) - 1
    const addEnd = (end: string): void => {
      if (action.do !== 'advance') lines[index] = `${label} → ${end}`
    }
    try {
      const answer = await perform(store, advance, action)
      addEnd(describeAnswer(answer))
      return answer
    } catch (error) {
      addEnd(`rejected: ${describeError(error)}`)
      throw error
    }
  }

  async function demandAnswer(step: Step): Promise<unknown> {
    try {
      return await answerTo(step)
    } catch (cause) {
      throw failure(`${step.label} was rejected: ${describeError(cause)}`, cause)
    }
  }

  function failure(message: string, cause?: unknown): Error {
    const history = lines.map((line, index) => `\n  ${index + 1}. ${line}`).slice(-MAX_LISTED_STEPS)
    return new Error(`case ${id}: ${message}.\nA store ${name}${history.join('')}`, { cause })
  }

  function fail(message: string): never {
    throw failure(message)
  }

  return {
    fail,
    async run(step) {
      const answer = await demandAnswer(step)
      if (step.expected === undefined || meets(answer, step.expected)) return answer
      return fail(
        `${step.label} (step ${lines.length}): expected ${describeExpected(step.expected)}, but it returned ${describeAnswer(answer)}`,
      )
    },
    async runTogether(steps) {
      // Wait for all, so that no call is still running when the case ends.
      const ends = await Promise.allSettled(steps.map(demandAnswer))
      return ends.map((end) => {
        if (end.status === 'rejected') throw end.reason
        return end.value
      })
    },
    attempt: (step) =>
      answerTo(step).then(
        (value) => ({ value }),
        () => undefined,
      ),
    clearSteps() {
      lines = []
    },
  }
}

function describeError(error: unknown): string {
  return error instanceof Error ? error.message : describeAnswer(error)
}
