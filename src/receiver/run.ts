import { RunError } from '../errors.js'
import { AS_ENDED, type CommitResult, type Execution } from '../idempotency/guard.js'
import { SETTLING_MS } from '../idempotency/store-call.js'
import type { Alarm } from '../lib/alarm-clock.js'
import { isThenable } from '../lib/call-safely.js'
import { isPromise, type MaybePromise } from '../lib/maybe-promise.js'
import { monotonicMs } from '../lib/timers.js'
import type { Bounded } from './drain.js'
import {
  HANDLED,
  isFault,
  type Outcome,
  outcomeOfDenial,
  outcomeOfFault,
  outcomeOfThrown,
} from './outcome.js'
import type { DeliveryState } from './state.js'

/** The delivery, as far as its run needs it. */
type RunState = Pick<DeliveryState, 'kind' | 'clock' | 'track' | 'report' | 'abort'>

export interface RunTerms {
  readonly timeoutMs: number
  readonly maxRunMs: number
}

/**
 * Runs a handler once and has its end committed. If both are done at once, that is all; else the sender is answered at the
 * deadline at the latest, and the run goes on.
 *
 * @throws RunError when the deadline has passed before the handler is started
 */
export function runHandler(
  state: RunState,
  execution: Execution,
  handler: () => unknown,
  terms: RunTerms,
): MaybePromise<Outcome> {
  const startedAtMs = state.clock.nowMs
  // By the clock: if the event loop was blocked, the timer has not had its turn yet.
  if (startedAtMs >= state.clock.deadlineMs) {
    const fault = timedOutBeforeRun(terms.timeoutMs)
    state.track(Promise.resolve(execution.commit(outcomeOfFault(fault))))
    throw fault
  }
  let end = HANDLED
  try {
    const returned = execution.invoke(handler)
    if (isThenable(returned)) return new Run(state, execution, terms, startedAtMs).afterHandler(returned)
  } catch (thrown) {
    end = outcomeOfThrown(thrown, state.kind)
  }
  const committed = execution.commit(end)
  if (!isPromise(committed)) return outcomeAfter(end, committed)
  return new Run(state, execution, terms, startedAtMs).afterCommit(end, committed)
}

/** The outcome of a run, by how its handler ended and what became of that when it was committed. */
function outcomeAfter(end: Outcome, committed: CommitResult): Outcome {
  if (committed === AS_ENDED) return end
  return committed.status === 'fault' ? outcomeOfFault(committed.error) : outcomeOfDenial(committed)
}

/**
 * A run that is waited for, and may outlive the delivery that started it: its end is committed when the handler settles, however
 * late, also if it was given up. The sender gets the first outcome that is known; each later one that is another is for the log.
 */
class Run implements Bounded {
  endsAtMs: number
  private end: Outcome | undefined
  private answer: ((outcome: Outcome) => void) | undefined
  /** The errors of the outcomes so far; absent until the sender has its answer. */
  private knownErrors: unknown[] | undefined
  private readonly deadline: Alarm
  private readonly limit: Alarm
  private whenFinished: ((outcome: Outcome) => void) | undefined

  constructor(
    private readonly state: RunState,
    private readonly execution: Execution,
    private readonly terms: RunTerms,
    startedAtMs: number,
  ) {
    const { clock } = state
    this.endsAtMs = startedAtMs + terms.maxRunMs
    this.deadline = clock.set(() => this.passDeadline(), clock.deadlineMs)
    this.limit = clock.set(() => this.giveUp(), this.endsAtMs, true)
  }

  /** Waits for the handler. The promise is that of the answer, and never rejects. */
  afterHandler(returned: PromiseLike<unknown>): Promise<Outcome> {
    Promise.resolve(returned).then(
      () => this.commit(HANDLED),
      (thrown) => this.commit(outcomeOfThrown(thrown, this.state.kind)),
    )
    return this.answered()
  }

  /** Waits for the commit of a handler that has ended. The promise is that of the answer, and never rejects. */
  afterCommit(end: Outcome, committed: Promise<CommitResult>): Promise<Outcome> {
    this.waitForCommit(end, committed)
    return this.answered()
  }

  private answered(): Promise<Outcome> {
    return new Promise((resolve) => {
      this.answer = resolve
    })
  }

  private commit(end: Outcome): void {
    const committed = this.execution.commit(end)
    if (isPromise(committed)) this.waitForCommit(end, committed)
    else this.finish(outcomeAfter(end, committed))
  }

  private waitForCommit(end: Outcome, committed: Promise<CommitResult>): void {
    this.end = end
    this.endsAtMs = monotonicMs() + SETTLING_MS
    this.state.clock.clear(this.limit)
    committed.then((result) => this.finish(outcomeAfter(end, result)))
  }

  private passDeadline(): void {
    const finished = new Promise<Outcome>((resolve) => {
      this.whenFinished = resolve
    })
    this.state.track(finished, this)
    this.tell(this.soFar())
  }

  /** What the sender may be told while the run goes on. */
  private soFar(): Outcome {
    const { state, end, execution, terms } = this
    if (end === undefined) return outcomeOfFault(handlerTimedOut(state.kind, terms, execution.hint?.() ?? ''))
    const doubt = execution.doubt(end)
    return doubt === undefined ? end : outcomeOfFault(doubt)
  }

  private giveUp(): void {
    const error = givenUp(this.state.kind, this.terms)
    this.execution.abandon(error)
    this.state.abort(error)
    this.finish(outcomeOfFault(error))
  }

  private finish(outcome: Outcome): void {
    const { clock } = this.state
    clock.clear(this.deadline)
    clock.clear(this.limit)
    this.tell(outcome)
    this.whenFinished?.(outcome)
  }

  private tell(outcome: Outcome): void {
    const { error } = outcome
    if (this.knownErrors === undefined) {
      this.knownErrors = [error]
      this.answer?.(outcome)
      return
    }
    if (isFault(outcome) && !this.knownErrors.includes(error)) this.state.report(error)
    this.knownErrors.push(error)
  }
}

export function timedOutBeforeRun(timeoutMs: number): RunError {
  return new RunError(
    'timed_out',
    `${timeoutMs / 1000} s (timeoutSeconds) passed before a handler started: the secret function, a schema or the store is slow, or the event loop was blocked.`,
  )
}

function handlerTimedOut(kind: string, { timeoutMs }: RunTerms, hint: string): RunError {
  return new RunError(
    'timed_out',
    `The handler of ${kind} had not returned after ${timeoutMs / 1000} s (timeoutSeconds): the sender was asked to retry, and the handler continues. Hand long work to a queue, or raise timeoutSeconds if the sender waits longer.${hint === '' ? '' : ` ${hint}`}`,
  )
}

function givenUp(kind: string, { maxRunMs }: RunTerms): RunError {
  return new RunError(
    'given_up',
    `The handler of ${kind} had not settled after ${maxRunMs / 1000} s (maxRunSeconds) and is given up: its lease is no longer renewed, its transaction is rolled back, and another delivery may run. Hand long work to a queue, or raise maxRunSeconds.`,
  )
}
