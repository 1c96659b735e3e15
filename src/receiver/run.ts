import { SETTLING_MS } from '../durations.js'
import { RunError } from '../errors.js'
import { CONFIRMED, type CommitResult, type Execution } from '../idempotency/guard.js'
import { isThenable } from '../lib/call-safely.js'
import { deferred } from '../lib/deferred.js'
import { isPromise, type MaybePromise } from '../lib/maybe-promise.js'
import { checkReturned, settled } from '../lib/returned.js'
import type { Alarm } from '../lib/time/alarm-clock.js'
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

/** The part of a delivery that its run needs. */
type RunState = Pick<DeliveryState, 'kind' | 'clock' | 'track' | 'report' | 'abort'>

export interface RunTerms {
  readonly timeoutMs: number
  readonly maxRunMs: number
}

/**
 * Runs a handler once and has its end committed. If both are synchronous, it returns the outcome; otherwise the sender is answered by the
 * deadline, and the run goes on.
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
  // By the clock: if the event loop was blocked, the timer has not fired yet.
  if (startedAtMs >= state.clock.deadlineMs) {
    const fault = timedOutBeforeRun(terms.timeoutMs)
    state.track(Promise.resolve(execution.commit(outcomeOfFault(fault))))
    throw fault
  }
  let end = HANDLED
  try {
    const returned = execution.invoke(handler)
    if (isThenable(returned)) return new Run(state, execution, terms, startedAtMs).afterHandler(returned)
    checkReturned(returned, state.kind)
  } catch (thrown) {
    end = outcomeOfThrown(thrown, state.kind)
  }
  const committed = execution.commit(end)
  if (!isPromise(committed)) return outcomeAfter(end, committed)
  return new Run(state, execution, terms, startedAtMs).afterCommit(end, committed)
}

/** The outcome of a run: from the handler's end and the result of its commit. */
function outcomeAfter(end: Outcome, committed: CommitResult): Outcome {
  if (committed === CONFIRMED) return end
  return committed.status === 'fault' ? outcomeOfFault(committed.error) : outcomeOfDenial(committed)
}

/**
 * A run that has not ended yet, and may outlive its delivery: its end is committed when the handler settles, however late, even if it was
 * given up. The sender gets the first known outcome; later ones that differ go to the log.
 */
class Run implements Bounded {
  endsAtMs: number
  private end: Outcome | undefined
  private readonly answer = deferred<Outcome>()
  private lastOutcome: Outcome | undefined
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

  /** Waits for the handler. Returns a promise of the answer that never rejects. */
  afterHandler(returned: PromiseLike<unknown>): Promise<Outcome> {
    void this.waitForHandler(returned)
    return this.answer.promise
  }

  /** Waits for the commit of a handler that has ended. Returns a promise of the answer that never rejects. */
  afterCommit(end: Outcome, committed: Promise<CommitResult>): Promise<Outcome> {
    this.waitForCommit(end, committed)
    return this.answer.promise
  }

  private async waitForHandler(returned: PromiseLike<unknown>): Promise<void> {
    let end = HANDLED
    try {
      // Not by `then`, which a promise may override.
      await settled(returned, this.state.kind)
    } catch (thrown) {
      end = outcomeOfThrown(thrown, this.state.kind)
    }
    try {
      const committed = this.execution.commit(end)
      if (isPromise(committed)) this.waitForCommit(end, committed)
      else this.finish(outcomeAfter(end, committed))
    } catch (fault) {
      // By its contract it never throws; but nothing else would answer the sender then.
      this.finish(outcomeOfFault(fault))
    }
  }

  private waitForCommit(end: Outcome, committed: Promise<CommitResult>): void {
    this.end = end
    this.endsAtMs = this.state.clock.nowMs + SETTLING_MS
    this.state.clock.clear(this.limit)
    committed.then(
      (result) => this.finish(outcomeAfter(end, result)),
      (fault) => this.finish(outcomeOfFault(fault)),
    )
  }

  private passDeadline(): void {
    const finished = new Promise<Outcome>((resolve) => {
      this.whenFinished = resolve
    })
    this.state.track(finished, this)
    this.respond(this.soFar())
  }

  /** The outcome for the sender while the run goes on. */
  private soFar(): Outcome {
    const { state, end, execution, terms } = this
    if (end === undefined) return outcomeOfFault(handlerTimedOut(state.kind, terms, execution.hint?.() ?? ''))
    const doubt = execution.unconfirmedError(end)
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
    this.respond(outcome)
    this.whenFinished?.(outcome)
  }

  private respond(outcome: Outcome): void {
    if (this.lastOutcome === undefined) this.answer.resolve(outcome)
    else if (isFault(outcome) && outcome.error !== this.lastOutcome.error) this.state.report(outcome.error)
    this.lastOutcome = outcome
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
