import type { IdempotencyStore, Purgeable } from '../../src/index.js'
import { describeAnswer, describeExpected, type ExpectedAnswer, MINUTE_MS, meets } from './expected-answer.js'
import { perform, type StoreAction } from './model.js'
import { withClock } from './skewed-clock.js'

/** A step of a case: an action, and the answer that the store owes. */
export interface Step {
  /** The step in words, for the message of a failure. */
  readonly label: string
  /** A purge is left out if there is none. */
  readonly action: StoreAction | { readonly do: 'purge' }
  /** Whether the second client of the backend makes the call. */
  readonly isOnSecond?: boolean
  /** Undefined if time passes, or if the case judges the answer itself. */
  readonly expected?: ExpectedAnswer | undefined
}

/** A failure of a long history lists only its last steps. */
const MAX_LISTED_STEPS = 70

/** What the steps of a case run on. */
export interface CaseClients {
  readonly first: IdempotencyStore
  /** Makes the second client, or returns the first if no other can reach its records. Called once, at the first step that needs it. */
  createSecond(): Promise<IdempotencyStore>
  advance(ms: number): Promise<void>
  /** That of the harness. Without it, a store's own is called. */
  purge?: (() => Promise<unknown>) | undefined
  /** How far the clock of the second client's process is ahead. */
  readonly skewMs: number
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
  clients: CaseClients,
): StoreCaseRunner {
  const { first, advance, skewMs } = clients
  let lines: string[] = []
  let second: Promise<IdempotencyStore> | undefined

  function clientOf({ isOnSecond }: Step): IdempotencyStore | Promise<IdempotencyStore> {
    if (isOnSecond !== true) return first
    second ??= withClock(skewMs, () => clients.createSecond())
    return second
  }

  /** The step with the client that makes it, for messages. */
  function named(step: Step, client: IdempotencyStore): Step {
    if (client === first) return step
    const clock = skewMs === 0 ? '' : `, whose clock is ${describeSkew(skewMs)}`
    return { ...step, label: `${step.label} on the second client${clock}` }
  }

  const purgeOf = (client: IdempotencyStore & Partial<Purgeable>): (() => Promise<unknown>) | undefined =>
    clients.purge ?? client.purge?.bind(client)

  /** @throws whatever the store throws or rejects with */
  async function answerTo({ label, action }: Step, client: IdempotencyStore): Promise<unknown> {
    const purge = purgeOf(client)
    if (action.do === 'purge' && purge === undefined) return undefined
    const index = lines.push(label) - 1
    const addEnd = (end: string): void => {
      if (action.do !== 'advance') lines[index] = `${label} → ${end}`
    }
    try {
      const answer = await withClock(client === first ? 0 : skewMs, () =>
        action.do === 'purge' ? purge?.() : perform(client, advance, action),
      )
      addEnd(describeAnswer(answer))
      return answer
    } catch (error) {
      addEnd(`rejected: ${describeError(error)}`)
      throw error
    }
  }

  async function demandAnswer(step: Step, client: IdempotencyStore): Promise<unknown> {
    try {
      return await answerTo(step, client)
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
    async run(plain) {
      const client = await clientOf(plain)
      const step = named(plain, client)
      const answer = await demandAnswer(step, client)
      if (step.expected === undefined || meets(answer, step.expected)) return answer
      return fail(
        `${step.label} (step ${lines.length}): expected ${describeExpected(step.expected)}, but it returned ${describeAnswer(answer)}`,
      )
    },
    async runTogether(steps) {
      const clients = await Promise.all(steps.map(clientOf))
      // Wait for all, so that no call is still running when the case ends.
      const ends = await Promise.allSettled(
        steps.map((step, index) => {
          const client = clients[index] ?? first
          return demandAnswer(named(step, client), client)
        }),
      )
      return ends.map((end) => {
        if (end.status === 'rejected') throw end.reason
        return end.value
      })
    },
    attempt: (step) =>
      answerTo(step, first).then(
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

function describeSkew(ms: number): string {
  return `${Math.abs(ms) / MINUTE_MS} min ${ms > 0 ? 'ahead' : 'behind'}`
}
