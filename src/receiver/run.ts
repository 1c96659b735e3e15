import { RunError } from '../errors.js'
import { SETTLING_MS } from '../idempotency/store-call.js'
import { type Alarm, monotonicMs, type Timers } from '../lib/timers.js'
import { HANDLED, type Outcome, outcomeOfFault, outcomeOfThrown } from './outcome.js'

/** An abort signal that costs nothing until somebody asks for it. */
export class LazyAbort {
  private controller: AbortController | undefined
  private aborted: { reason: unknown } | undefined

  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController()
      if (this.aborted !== undefined) this.controller.abort(this.aborted.reason)
    }
    return this.controller.signal
  }

  abort(reason: unknown): void {
    this.aborted ??= { reason }
    this.controller?.abort(reason)
  }
}

/** Where the end of a run is recorded: a lease on a store, or the transaction of an inbox. */
export interface RunRecord {
  /** Calls the handler. */
  call(handler: () => unknown): unknown
  /** The handler is given up for this reason: what holds its place no longer does. */
  letGo(reason: unknown): void
  /** Records how the run ended, and gives what the sender may be told then. */
  settle(outcome: Outcome): Promise<Outcome>
  /** What the sender is told should the deadline pass while it is being recorded. */
  meanwhile(outcome: Outcome): Outcome
  /** A sentence on what may hold up the handler, for the log, or none. Never throws. */
  hint?(): string
}

export interface RunTerms {
  readonly kind: string
  readonly callHandler: () => unknown
  /** Absent where the event runs without a record. */
  readonly record: RunRecord | undefined
  readonly maxRunMs: number
  readonly abort: LazyAbort
  readonly timers: Timers
  /** The sender has its answer, and the run goes on. Called once at most. */
  readonly onOutlived: (run: Run, answered: Outcome) => void
}

/**
 * One run of a handler, which may outlive the delivery that started it: its end is recorded when it settles, however
 * late, and one that was given up still completes or releases by its token.
 */
export class Run {
  /** What the sender is told: how the run ended, or, if it is outlived, what was known by then. Never rejects. */
  readonly answer: Promise<Outcome>
  /** The outcome when the handler has settled and that is recorded, given up before or not; it may never. Never rejects. */
  readonly settled: Promise<Outcome>
  /** Whether its record is settled too, or the handler is given up. */
  isFinished = false
  /** When it is finished at the latest, on the monotonic clock. */
  endsAtMs: number
  private tell: (answer: Outcome) => void = () => {}
  /** What the sender can be told as soon as the handler has settled, while its record may still be under way. */
  private soFar: Outcome | undefined
  private isOutlived = false
  private readonly limit: Alarm
  private readonly whenFinished: ((outcome: Outcome) => void)[] = []

  constructor(private readonly terms: RunTerms) {
    const { timers, maxRunMs } = terms
    this.endsAtMs = monotonicMs() + maxRunMs
    this.limit = timers.set(() => this.giveUp(), this.endsAtMs, true)
    this.answer = new Promise((resolve) => {
      this.tell = resolve
    })
    this.settled = this.toTheEnd()
  }

  /** The outcome when it is finished. Never rejects. */
  finished(): Promise<Outcome> {
    return new Promise((resolve) => {
      this.whenFinished.push(resolve)
    })
  }

  /** The sender is answered now: by what is known, or else by `unknown`. The run goes on. */
  outlive(unknown: Outcome): void {
    const answer = this.soFar ?? unknown
    if (!this.isOutlived) this.terms.onOutlived(this, answer)
    this.isOutlived = true
    this.tell(answer)
  }

  private finish(outcome: Outcome): void {
    this.isFinished = true
    for (const resolve of this.whenFinished) resolve(outcome)
    this.tell(outcome)
  }

  private async toTheEnd(): Promise<Outcome> {
    const { kind, callHandler, record } = this.terms
    let outcome = HANDLED
    try {
      await (record === undefined ? callHandler() : record.call(callHandler))
    } catch (thrown) {
      outcome = outcomeOfThrown(thrown, kind)
    }
    this.limit.clear()
    if (record !== undefined) {
      this.endsAtMs = monotonicMs() + SETTLING_MS
      this.soFar = record.meanwhile(outcome)
      outcome = await record.settle(outcome)
    }
    this.finish(outcome)
    return outcome
  }

  private giveUp(): void {
    const { kind, record, maxRunMs, abort } = this.terms
    const error = new RunError(
      'given_up',
      `The handler of ${kind} had not settled after ${maxRunMs / 1000} s (maxRunSeconds) and is given up: its lease is no longer renewed, its transaction is rolled back, and another delivery may run. Hand long work to a queue, or raise maxRunSeconds.`,
    )
    record?.letGo(error)
    abort.abort(error)
    const givenUp = outcomeOfFault(error)
    this.outlive(givenUp)
    this.finish(givenUp)
  }
}
