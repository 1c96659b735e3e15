import type { IdempotencyStore } from '../../src/index.js'
import { describeAnswer, describeExpected, type ExpectedAnswer, MINUTE_MS, meets } from './answers.js'
import { type StoreAction, send } from './model.js'
import { withClock } from './skewed-clock.js'

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
export interface CaseClients<Store> {
  readonly first: Store
  /** Resolves to the first client if no other can reach its records. Called once, at the first step that needs it. */
  createSecond(): Promise<Store>
  advance(ms: number): Promise<void>
  /** Absent if there is none. */
  readonly purge?: (() => unknown) | undefined
  /** How far the clock of the second client's process is ahead. */
  readonly skewMs: number
}

interface Call<T = unknown> {
  readonly label: string
  readonly ask: () => T | Promise<T>
  /** How its answer is listed. Default: as it is. */
  readonly show?: (answer: T) => string
}

/** Runs the steps of one case on the clients of one backend, and lists them when the case fails. */
export interface StoreCaseRunner<Store = IdempotencyStore> {
  /** Runs the step, and fails unless the answer is the expected one. Returns the answer. */
  run(step: Step): Promise<unknown>
  /** Runs steps one after the other. */
  runAll(steps: readonly Step[]): Promise<void>
  /** Runs all steps at the same time, and returns the answers in the same order. */
  runTogether(steps: readonly Step[]): Promise<unknown[]>
  /** Runs a step that the store may refuse: returns its answer, or undefined when it rejects. */
  attempt(step: Step): Promise<{ readonly value: unknown } | undefined>
  /** Makes any other call of the first client. */
  call<T>(label: string, make: (store: Store) => T | Promise<T>, show?: (answer: T) => string): Promise<T>
  /** @throws Error always */
  fail(message: string): never
  /** Drops the steps so far from the list, if the following ones do not depend on them. */
  clearSteps(): void
}

export function createCaseRunner<Store extends IdempotencyStore>(
  { id, name }: { id: string; name: string },
  { first, createSecond, advance, purge, skewMs }: CaseClients<Store>,
): StoreCaseRunner<Store> {
  const which = ` on the second client${skewMs === 0 ? '' : `, whose clock is ${describeSkew(skewMs)}`}`
  let lines: string[] = []
  let second: Promise<Store> | undefined

  function failure(message: string, cause?: unknown): Error {
    const history = lines.map((line, index) => `\n  ${index + 1}. ${line}`).slice(-MAX_LISTED_STEPS)
    return new Error(`case ${id}: ${message}.\nA store ${name}${history.join('')}`, { cause })
  }

  function fail(message: string): never {
    throw failure(message)
  }

  /** @throws whatever the store throws or rejects with */
  async function listed<T>({ label, ask, show = describeAnswer }: Call<T>): Promise<T> {
    const index = lines.push(label) - 1
    try {
      const answer = await ask()
      const shown = show(answer)
      if (shown !== '') lines[index] = `${label} → ${shown}`
      return answer
    } catch (error) {
      lines[index] = `${label} → rejected: ${describeError(error)}`
      throw error
    }
  }

  async function demanded<T>(call: Call<T>): Promise<T> {
    try {
      return await listed(call)
    } catch (cause) {
      throw failure(`${call.label} was rejected: ${describeError(cause)}`, cause)
    }
  }

  async function callOf({ label, action, isOnSecond, isFrozen }: Step): Promise<Call> {
    if (action.do === 'advance') return { label, ask: () => advance(action.ms), show: () => '' }
    if (isOnSecond) second ??= withClock(skewMs, createSecond)
    const client = isOnSecond && second !== undefined ? await second : first
    const isOther = client !== first
    const ask = (): unknown =>
      action.do === 'purge' ? purge?.() : send(client, action, isFrozen ? Object.freeze : undefined)
    return {
      label: isOther ? `${label}${which}` : label,
      ask: () => withClock(isOther ? skewMs : 0, ask),
    }
  }

  async function run(step: Step): Promise<unknown> {
    const { expected } = step
    const call = await callOf(step)
    const answer = await demanded(call)
    if (expected === undefined || meets(answer, expected)) return answer
    return fail(
      `${call.label} (step ${lines.length}): expected ${describeExpected(expected)}, but it returned ${describeAnswer(answer)}`,
    )
  }

  return {
    fail,
    run,
    async runAll(steps) {
      for (const step of steps) await run(step)
    },
    async runTogether(steps) {
      const calls = await Promise.all(steps.map(callOf))
      // Wait for all, so that no call is still running when the case ends.
      const ends = await Promise.allSettled(calls.map(demanded))
      return ends.map((end) => {
        if (end.status === 'rejected') throw end.reason
        return end.value
      })
    },
    attempt: async (step) =>
      listed(await callOf(step)).then(
        (value) => ({ value }),
        () => undefined,
      ),
    call: (label, make, show) => demanded({ label, ask: () => make(first), ...(show && { show }) }),
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
