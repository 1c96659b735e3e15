import type { IdempotencyStore } from '../../src/index.js'
import { describeAnswer, describeExpected, type Expected, meets } from './expected-answer.js'
import { play, type StoreStep } from './model.js'

/** A step of a case, as it is told, and what the store must answer. */
export interface Move {
  readonly told: string
  readonly step: StoreStep
  /** Undefined: time passes, or the answer is judged elsewhere. */
  readonly expected?: Expected | undefined
}

/** Of a long history its end is told. */
const MAX_TOLD = 70

/** One run of one case on one store. It remembers the steps, so that a failure can tell how it came about. */
export interface Trial {
  /** Takes the step, and fails unless the answer is what was expected. Gives the answer. */
  take(move: Move): Promise<unknown>
  /** Takes all steps at once and gives the answers in the same order. */
  takeTogether(moves: readonly Move[]): Promise<unknown[]>
  /** Takes a step that the store may refuse: gives its answer, or undefined when it rejects. */
  attempt(move: Move): Promise<{ readonly value: unknown } | undefined>
  /** @throws Error always */
  fail(message: string): never
  /** Forgets the steps so far, where what follows has nothing to do with them. */
  turnPage(): void
}

export function startTrial(
  { id, name }: { id: string; name: string },
  store: IdempotencyStore,
  { advance }: { advance(ms: number): Promise<void> },
): Trial {
  let steps: string[] = []

  /** @throws whatever the store throws or rejects with */
  async function answerTo({ told, step }: Move): Promise<unknown> {
    const index = steps.push(told) - 1
    const tell = (end: string): void => {
      if (step.do !== 'advance') steps[index] = `${told} → ${end}`
    }
    try {
      const answer = await play(store, advance, step)
      tell(describeAnswer(answer))
      return answer
    } catch (error) {
      tell(`rejected: ${describeError(error)}`)
      throw error
    }
  }

  async function demandAnswer(move: Move): Promise<unknown> {
    try {
      return await answerTo(move)
    } catch (cause) {
      throw failure(`${move.told} was rejected: ${describeError(cause)}`, cause)
    }
  }

  function failure(message: string, cause?: unknown): Error {
    const history = steps.map((told, index) => `\n  ${index + 1}. ${told}`).slice(-MAX_TOLD)
    return new Error(`case ${id}: ${message}.\nA store ${name}${history.join('')}`, { cause })
  }

  function fail(message: string): never {
    throw failure(message)
  }

  return {
    fail,
    async take(move) {
      const answer = await demandAnswer(move)
      if (move.expected === undefined || meets(answer, move.expected)) return answer
      return fail(
        `${move.told} (step ${steps.length}): expected ${describeExpected(move.expected)}, but it returned ${describeAnswer(answer)}`,
      )
    },
    async takeTogether(moves) {
      // To the end, so that nothing is still going on when the case is over.
      const ends = await Promise.allSettled(moves.map(demandAnswer))
      return ends.map((end) => {
        if (end.status === 'rejected') throw end.reason
        return end.value
      })
    },
    attempt: (move) =>
      answerTo(move).then(
        (value) => ({ value }),
        () => undefined,
      ),
    turnPage() {
      steps = []
    },
  }
}

function describeError(error: unknown): string {
  return error instanceof Error ? error.message : describeAnswer(error)
}
