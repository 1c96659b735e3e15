import type { MaybePromise } from '../lib/maybe-promise.js'
import type { AlarmClock } from '../lib/time/alarm-clock.js'
import type { FailureState } from './failures/failures.js'
import type { JoinedInbox } from './inbox.js'

/** Makes sure that an event's handler runs once: with a lease on a store, or in a transaction of an inbox. Each receiver has one. */
export interface Guard<Request = unknown> {
  /**
   * Calls `work`, unless the event has been handled or is being handled now, and records how it ended. If all of it is synchronous, so is
   * the result. It waits for the right to call `work` no longer than to the deadline.
   *
   * @param key `null`: the event runs without deduplication
   * @returns the end of the work, or the reason for which it was not called
   * @throws StoreError when the backend is down, full or too slow; once the work has ended, only if its end may be lost
   * @throws ConfigurationError when the user's function makes no store, or no inbox, for the request
   */
  run<End extends WorkEnd>(
    key: string | null,
    delivery: GuardedDelivery<Request>,
    work: Work<End>,
  ): MaybePromise<End | Denial>
  /**
   * Keeps the failure of a delivery that ended before its run, unless the backend says that its event was handled or is being handled. Only for a delivery with a
   * failure; never rejects.
   *
   * @returns whether it is parked now
   */
  keep(key: string | null, delivery: GuardedDelivery<Request>, end: WorkEnd): Promise<boolean>
  /** Asks the backend whether it can be used; absent if it cannot be asked. Rejects with the reason. */
  check?: (() => unknown) | undefined
}

/** Runs the handler. It never throws or rejects; it may settle after it was abandoned. */
export type Work<End extends WorkEnd> = (grant: Grant) => MaybePromise<End>

/**
 * How a handler ended. `handled`, `discarded`, and `duplicate` of an event that was handled elsewhere, are final; after anything else the
 * event runs again.
 */
export interface WorkEnd {
  readonly outcome: string
  readonly code?: string
  readonly error?: unknown
}

/** The right to run a handler once. */
export interface Grant {
  /** False if the event runs without protection. */
  readonly deduplicated: boolean
  /** 1 at the first grant; absent if nothing counts. */
  readonly attempt?: number
  /** The transaction of an inbox. */
  readonly tx: unknown
  /** The error for the sender while the end is being recorded and may still be lost; `undefined` if the sender may get the end at once. */
  unconfirmedError(end: WorkEnd): unknown
  /** Gives up the handler for this reason and releases its slot. The work may still end, and be recorded. */
  abandon(reason: unknown): void
  /** A sentence for the log on what may block the handler, if known. Never throws. */
  hint?(): string
}

/** The failure of a delivery. None of its methods rejects: what fails is reported. */
export interface GuardedFailure {
  /** That of the event, or one of its bytes. */
  readonly key: string
  readonly isReplay: boolean
  /** Whether there is, or may be, a failure to remove. */
  readonly isKept: boolean
  /**
   * The state of a failure of an earlier delivery; `failing` also if that is not known, so that the event runs. `undefined` too while none is
   * looked up: a failure may then be left.
   */
  find(): Promise<FailureState | undefined>
  /**
   * Keeps it, if the end is one that is kept: once for each delivery.
   *
   * @returns its state; `undefined` if it was not kept
   */
  keep(end: WorkEnd): Promise<FailureState | undefined>
  /** From now on it is kept by an inbox that is joined with the failures. */
  keepWith(keep: JoinedInbox<unknown>['keep']): void
  remove(): Promise<void>
  /** Reports that the failures could not be used for this delivery, which goes on without them. */
  reportUnusable(error: unknown): void
}

/** The part of a delivery that a guard needs. */
export interface GuardedDelivery<Request = unknown> {
  readonly request: Request
  /** Absent without the option `failures`. */
  readonly failure: GuardedFailure | undefined
  readonly clock: AlarmClock
  /** Reports an error that does not change the outcome. */
  report(error: unknown): void
  /** Aborts the handler's signal. */
  abort(reason: unknown): void
  /** Registers work that goes on after the answer: a drain waits for it, and the platform keeps it alive if it can. */
  track(work: Promise<unknown>): void
  /** Keeps the slot of the run, if their number is limited, until this work has settled: it uses a connection. */
  occupy(work: Promise<unknown>): void
  /** Gives the slot back when this work has settled, even if the handler goes on. */
  vacate(work: Promise<unknown>): void
}

export type Denial =
  | { readonly status: 'duplicate' }
  /** Another delivery of the event is being handled. */
  | { readonly status: 'in_flight'; readonly retryAfterMs: number }
  /** The event waits for a replay; the error is that of the run that parked it. */
  | { readonly status: 'parked'; readonly error?: unknown }

export const PARKED: { readonly status: 'parked' } = { status: 'parked' }

export function isDone({ outcome }: WorkEnd): boolean {
  return outcome === 'handled' || outcome === 'discarded' || outcome === 'duplicate'
}

/** The grant of an unprotected event: nothing is recorded. */
export const UNPROTECTED: Grant = {
  deduplicated: false,
  tx: undefined,
  unconfirmedError: () => undefined,
  abandon() {},
}
