import type { IdempotencyStore, Purgeable } from '../../src/index.js'
import { describeAnswer, describeExpected, type ExpectedAnswer, MINUTE_MS, meets } from './expected-answer.js'
import { withClock } from './skewed-clock.js'
import { type StoreAction, send } from './transition.js'

/** A step of a case: an action, and the answer that the store must give. */
export interface Step {
  /** The step in words, for the message of a failure. */
  readonly label: string
  /** A purge is left out if there is none. */
  readonly action: StoreAction | { readonly do: 'purge' }
  /** Whether the second client of the backend makes the call. */
  readonly isOnSecond?: boolean
  /** Whether the store must not change the arguments of the call. */
  readonly isFrozen?: boolean
  /** Undefined for a step of time, or if the case judges the answer itself. */
  readonly expected?: ExpectedAnswer | undefined
}

/** A failure of a long history lists only its last steps. */
const MAX_LISTED_STEPS = 70

/** The clients and the clock for the steps of a case. */
export interface CaseClients {
  readonly first: IdempotencyStore
  /** Resolves to the first client if no other can reach its records. Called once, at the first step that needs it. */
  createSecond(): Promise<IdempotencyStore>
  readonly harness: { advance(ms: number): Promise<void>; purge?(): Promise<unknown> }
  /** How far the clock of the second client's process is ahead. */
  readonly skewMs: number
}

/** A step and the client that makes it, which is named in its label. */
interface Call extends Omit<Step, 'isOnSecond'> {
  readonly client: IdempotencyStore & Partial<Purgeable>
}

/** Runs the steps of one case on the clients of one backend, and lists them when the case fails. */
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
  { first, createSecond, harness, skewMs }: CaseClients,
): StoreCaseRunner {
  const which = ` on the second client${skewMs === 0 ? '' : `, whose clock is ${describeSkew(skewMs)}`}`
  let lines: string[] = []
  let second: Promise<IdempotencyStore> | undefined

  async function callOf({ isOnSecond, ...step }: Step): Promise<Call> {
    if (isOnSecond !== true || step.action.do === 'advance') return { ...step, client: first }
    second ??= withClock(skewMs, createSecond)
    const client = await second
    return { ...step, client, label: client === first ? step.label : `${step.label}${which}` }
  }

  /** @throws whatever the store throws or rejects with */
  async function answerTo({ label, action, client, isFrozen }: Call): Promise<unknown> {
    if (action.do === 'purge' && (harness.purge ?? client.purge) === undefined) return undefined
    const index = lines.push(label) - 1
    const addEnd = (end: string): void => {
      if (action.do !== 'advance') lines[index] = `${label} → ${end}`
    }
    try {
      const answer = await withClock(client === first ? 0 : skewMs, () => {
        if (action.do === 'purge') return harness.purge === undefined ? client.purge?.() : harness.purge()
        if (action.do === 'advance') return harness.advance(action.ms)
        return isFrozen ? send(client, action, Object.freeze) : send(client, action)
      })
      addEnd(describeAnswer(answer))
      return answer
    } catch (error) {
      addEnd(`rejected: ${describeError(error)}`)
      throw error
    }
  }

  async function demandAnswer(call: Call): Promise<unknown> {
    try {
      return await answerTo(call)
    } catch (cause) {
      throw failure(`${call.label} was rejected: ${describeError(cause)}`, cause)
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
      const call = await callOf(step)
      const answer = await demandAnswer(call)
      if (step.expected === undefined || meets(answer, step.expected)) return answer
      return fail(
        `${call.label} (step ${lines.length}): expected ${describeExpected(step.expected)}, but it returned ${describeAnswer(answer)}`,
      )
    },
    async runTogether(steps) {
      const calls = await Promise.all(steps.map(callOf))
      // Wait for all, so that no call is still running when the case ends.
      const ends = await Promise.allSettled(calls.map(demandAnswer))
      return ends.map((end) => {
        if (end.status === 'rejected') throw end.reason
        return end.value
      })
    },
    async attempt(step) {
      const call = await callOf(step)
      return answerTo(call).then(
        (value) => ({ value }),
        () => undefined,
      )
    },
    clearSteps() {
      lines = []
    },
  }
}

function describeError(error: unknown): string {
  return error instanceof Error ? error.message : describeAnswer(error)
}

function describeSkew(ms: number): string {
  return `${Math.abs(ms) / MINUTE_MS} min ${ms > 0 ? 'ahead' : 'behind'}`
}
