import { SETTLING_MS } from '../durations.js'
import { RunError } from '../errors.js'
import type { Denial, Grant, Guard, GuardedDelivery } from '../idempotency/guard.js'
import { isThenable } from '../lib/call-safely.js'
import { type Deferred, deferred } from '../lib/deferred.js'
import { isPromise, type MaybePromise } from '../lib/maybe-promise.js'
import { awaitable, checkReturned, settled } from '../lib/returned.js'
import type { Alarm } from '../lib/time/alarm-clock.js'
import type { Bounded } from './operation/drain.js'
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
type RunState<Request> = GuardedDelivery<Request> &
  Pick<DeliveryState<Request>, 'kind' | 'attempt' | 'keepAlive' | 'track'>

export interface RunTerms<Request> {
  readonly guard: Guard<Request>
  readonly timeoutMs: number
  readonly maxRunMs: number
}

/**
 * Has the guard run the handler of a delivery once, and record its end: synchronously if both are. Otherwise the sender is answered by the
 * deadline, and the run goes on.
 *
 * @throws StoreError, ConfigurationError when nothing was run: see `Guard`
 */
export function runOnce<Request>(
  key: string | null,
  state: RunState<Request>,
  handler: (grant: Grant) => unknown,
  terms: RunTerms<Request>,
): MaybePromise<Outcome> {
  const run = new Run(state, handler, terms)
  const ended = terms.guard.run(key, state, (grant) => run.start(grant))
  return isPromise(ended) ? run.answerTo(ended) : outcomeOf(ended)
}

function outcomeOf(ended: Outcome | Denial): Outcome {
  return 'status' in ended ? outcomeOfDenial(ended) : ended
}

/**
 * A run, which may outlive its delivery: its end is recorded when the handler settles, however late, even if it was given up. The sender
 * gets the first known outcome; later ones that differ go to the log.
 */
class Run<Request> implements Bounded {
  endsAtMs = 0
  private grant: Grant | undefined
  private end: Outcome | undefined
  private answer: Deferred<Outcome> | undefined
  private lastOutcome: Outcome | undefined
  private deadline: Alarm | undefined
  private limit: Alarm | undefined
  private whenFinished: ((outcome: Outcome) => void) | undefined

  constructor(
    private readonly state: RunState<Request>,
    private readonly handler: (grant: Grant) => unknown,
    private readonly terms: RunTerms<Request>,
  ) {}

  /** Runs the handler, once the guard has granted it. Never throws; returns a promise, which never rejects, if the handler does. */
  start(grant: Grant): MaybePromise<Outcome> {
    const { clock, kind } = this.state
    this.grant = grant
    this.state.attempt = grant.attempt
    const { nowMs } = clock
    // By the clock: if the event loop was blocked, the timer has not fired yet.
    if (nowMs >= clock.deadlineMs) {
      return this.endAs(outcomeOfFault(timedOutBeforeRun(this.terms.timeoutMs)), nowMs)
    }
    try {
      const returned = awaitable(this.handler(grant), kind)
      if (isThenable(returned)) {
        this.endsAtMs = nowMs + this.terms.maxRunMs
        this.limit = clock.set(() => this.giveUp(), this.endsAtMs, true)
        return this.settle(returned)
      }
      checkReturned(returned, kind)
      return this.endAs(HANDLED, nowMs)
    } catch (thrown) {
      return this.endAs(outcomeOfThrown(thrown, kind), nowMs)
    }
  }

  private async settle(returned: PromiseLike<unknown>): Promise<Outcome> {
    const { clock, kind } = this.state
    let end = HANDLED
    try {
      // Not by `then`, which a promise may override.
      const value = await returned
      if (value !== undefined) await settled(value, kind)
    } catch (thrown) {
      end = outcomeOfThrown(thrown, kind)
    }
    clock.clear(this.limit)
    return this.endAs(end, clock.nowMs)
  }

  private endAs(end: Outcome, nowMs: number): Outcome {
    this.end = end
    this.endsAtMs = nowMs + SETTLING_MS
    return end
  }

  /** The answer to the sender: at the latest at the deadline. Never rejects. */
  answerTo(ended: Promise<Outcome | Denial>): Promise<Outcome> {
    const { clock } = this.state
    this.state.keepAlive()
    this.deadline = clock.set(() => this.passDeadline(), clock.deadlineMs)
    this.answer = deferred()
    ended.then(
      (end) => this.finish(outcomeOf(end)),
      (fault) => this.finish(outcomeOfFault(fault)),
    )
    return this.answer.promise
  }

  private passDeadline(): void {
    // Until then the guard keeps to the deadline.
    if (this.grant === undefined) return
    const finished = new Promise<Outcome>((resolve) => {
      this.whenFinished = resolve
    })
    this.state.track(finished, this)
    this.respond(this.soFar(this.grant))
  }

  /** The outcome for the sender while the run goes on. */
  private soFar(grant: Grant): Outcome {
    const { state, end, terms } = this
    if (end === undefined)
      return outcomeOfFault(handlerTimedOut(state.kind, terms.timeoutMs, grant.hint?.() ?? ''))
    const doubt = grant.unconfirmedError(end)
    return doubt === undefined ? end : outcomeOfFault(doubt)
  }

  private giveUp(): void {
    const error = givenUp(this.state.kind, this.terms.maxRunMs)
    this.grant?.abandon(error)
    this.state.abort(error)
    this.finish(outcomeOfFault(error))
  }

  private finish(outcome: Outcome): void {
    this.state.clock.clear(this.deadline)
    this.respond(outcome)
    this.whenFinished?.(outcome)
  }

  private respond(outcome: Outcome): void {
    if (this.lastOutcome === undefined) this.answer?.resolve(outcome)
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

function handlerTimedOut(kind: string, timeoutMs: number, hint: string): RunError {
  return new RunError(
    'timed_out',
    `The handler of ${kind} had not returned after ${timeoutMs / 1000} s (timeoutSeconds): the sender was asked to retry, and the handler continues. Hand long work to a queue, or raise timeoutSeconds if the sender waits longer.${hint === '' ? '' : ` ${hint}`}`,
  )
}

function givenUp(kind: string, maxRunMs: number): RunError {
  return new RunError(
    'given_up',
    `The handler of ${kind} had not settled after ${maxRunMs / 1000} s (maxRunSeconds) and is given up: its lease is no longer renewed, its transaction is rolled back, and another delivery may run. Hand long work to a queue, or raise maxRunSeconds.`,
  )
}
