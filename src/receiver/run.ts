import { SETTLING_MS } from '../durations.js'
import { codeOf, RunError, StoreError } from '../errors.js'
import type { Denial, Grant, Guard, GuardedDelivery } from '../ledger/guard.js'
import { type Deferred, deferred, isPromise, type MaybePromise } from '../lib/promises.js'
import type { Alarm } from '../lib/time/alarm-clock.js'
import type { Bounded } from '../operation/drain.js'
import { settled } from './handler-result.js'
import {
  DUPLICATE,
  HANDLED,
  isFault,
  isSignal,
  type Outcome,
  outcomeOfDenial,
  outcomeOfFault,
  outcomeOfThrown,
} from './outcome.js'
import type { DeliveryState } from './state.js'

/** The part of a delivery that its run needs. */
type RunState<Request> = GuardedDelivery<Request> &
  Pick<
    DeliveryState<Request>,
    'kind' | 'attempt' | 'hasBegun' | 'slot' | 'abortedFor' | 'keepAlive' | 'track'
  >

/** The user's functions, with their arguments. */
export interface RunCalls {
  readonly handler: (grant: Grant) => unknown
  /** Whether the event was handled elsewhere; `undefined` without that option. */
  readonly wasHandledBefore: (() => Promise<boolean>) | undefined
}

export interface RunTerms<Request> {
  readonly guard: Pick<Guard<Request>, 'run'>
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
  calls: RunCalls,
  terms: RunTerms<Request>,
): MaybePromise<Outcome> {
  const run = new Run(state, calls, terms)
  let ended: MaybePromise<Outcome | Denial>
  try {
    ended = terms.guard.run(key, state, (grant) => run.start(grant))
  } catch (fault) {
    state.slot?.free()
    throw fault
  }
  if (isPromise(ended)) {
    // Also if the run is given up: its handler still works and uses a connection.
    state.occupy(ended)
    return run.answerTo(ended)
  }
  state.slot?.free()
  return outcomeOf(ended)
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
  private givingUp: Alarm | undefined
  private whenFinished: ((outcome: Outcome) => void) | undefined

  constructor(
    private readonly state: RunState<Request>,
    private readonly calls: RunCalls,
    private readonly terms: RunTerms<Request>,
  ) {}

  /** Runs the handler, once the guard has granted it. Never throws; returns a promise, which never rejects, if the handler does. */
  start(grant: Grant): MaybePromise<Outcome> {
    this.grant = grant
    this.state.attempt = grant.attempt
    const { wasHandledBefore } = this.calls
    return wasHandledBefore === undefined ? this.call(grant) : this.askBefore(wasHandledBefore, grant)
  }

  private async askBefore(wasHandledBefore: () => Promise<boolean>, grant: Grant): Promise<Outcome> {
    this.limit(this.state.clock.nowMs)
    try {
      if (!(await wasHandledBefore())) return this.call(grant)
      return this.endAs(DUPLICATE)
    } catch (thrown) {
      return this.endAs(isSignal(thrown) ? outcomeOfThrown(thrown, this.state.kind) : outcomeOfFault(thrown))
    }
  }

  private call(grant: Grant): MaybePromise<Outcome> {
    const { clock, kind, abortedFor } = this.state
    const { nowMs } = clock
    // For example, the lease was lost while handledBefore ran.
    if (abortedFor !== undefined) return this.endAs(outcomeOfFault(abortedBeforeRun(abortedFor.reason)))
    // Checked by the clock: after a blocked event loop, the timer has not fired yet.
    if (nowMs >= clock.deadlineMs) {
      return this.endAs(outcomeOfFault(timedOutBeforeRun(this.terms.timeoutMs)))
    }
    this.state.hasBegun = true
    try {
      const settling = settled(this.calls.handler(grant), kind)
      if (!isPromise(settling)) return this.endAs(HANDLED)
      // The handler may have blocked the event loop since.
      this.limit(nowMs)
      return this.settle(settling)
    } catch (thrown) {
      return this.endAs(outcomeOfThrown(thrown, kind))
    }
  }

  /** Starts the time after which the run is given up. */
  private limit(fromMs: number): void {
    if (this.givingUp !== undefined) return
    this.endsAtMs = fromMs + this.terms.maxRunMs
    this.givingUp = this.state.clock.set(() => this.giveUp(), this.endsAtMs, true)
  }

  private async settle(settling: Promise<void>): Promise<Outcome> {
    let end = HANDLED
    try {
      await settling
    } catch (thrown) {
      end = outcomeOfThrown(thrown, this.state.kind)
    }
    return this.endAs(end)
  }

  private endAs(end: Outcome): Outcome {
    const { clock } = this.state
    clock.clear(this.givingUp)
    this.end = end
    this.endsAtMs = clock.nowMs + SETTLING_MS
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
    // Before the handler is called, the guard keeps to the deadline.
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
    if (end === undefined && !state.hasBegun) return outcomeOfFault(timedOutBeforeRun(terms.timeoutMs))
    if (end === undefined)
      return outcomeOfFault(handlerTimedOut(state.kind, terms.timeoutMs, grant.hint?.() ?? ''))
    const doubt = grant.unconfirmedError(end)
    return doubt === undefined ? end : outcomeOfFault(doubt)
  }

  private giveUp(): void {
    const { kind, hasBegun } = this.state
    const error = givenUp(hasBegun ? `The handler of ${kind}` : 'handledBefore', this.terms.maxRunMs)
    const outcome = outcomeOfFault(error)
    this.grant?.giveUp(outcome)
    this.state.abort(error)
    this.finish(outcome)
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
    `${timeoutMs / 1000} s (timeoutSeconds) passed before a handler started: the secret or account function, a schema, the store or handledBefore is slow, or the event loop was blocked.`,
  )
}

function handlerTimedOut(kind: string, timeoutMs: number, hint: string): RunError {
  return new RunError(
    'timed_out',
    `The handler of ${kind} had not returned after ${timeoutMs / 1000} s (timeoutSeconds); it continues, and if it succeeds, the event is handled. Hand long work to a queue, or raise timeoutSeconds if the sender waits longer.${hint === '' ? '' : ` ${hint}`}`,
  )
}

function abortedBeforeRun(reason: unknown): unknown {
  if (codeOf(reason) !== 'lease_lost') return reason
  return new StoreError(
    'store_unavailable',
    'The lease was lost while handledBefore ran: another delivery may run.',
    { cause: reason },
  )
}

function givenUp(what: string, maxRunMs: number): RunError {
  return new RunError(
    'given_up',
    `${what} had not settled after ${maxRunMs / 1000} s (maxRunSeconds) and is given up: its lease is no longer renewed, its transaction is rolled back, and another delivery may run. Hand long work to a queue, or raise maxRunSeconds.`,
  )
}
