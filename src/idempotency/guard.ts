import type { MaybePromise } from '../lib/maybe-promise.js'
import type { AlarmClock } from '../lib/time/alarm-clock.js'

/** Makes sure that an event's handler runs once: with a lease on a store, or a transaction of an inbox. Each receiver has one. */
export interface Guard<Request = unknown> {
  /**
   * Grants the execution, unless the event has been handled or is being handled now.
   *
   * @param key `null`: the event runs without deduplication
   * @throws StoreError when the backend is down, full, or too slow
   * @throws ConfigurationError when the user's function makes no store, or no inbox, for the request
   */
  acquire(key: string | null, delivery: GuardedDelivery, request: Request): MaybePromise<Execution | Denial>
}

/** The part of a delivery that a guard needs. */
export interface GuardedDelivery {
  readonly clock: AlarmClock
  /** Reports an error that does not change the outcome. */
  report(error: unknown): void
  /** Aborts the handler's signal. */
  abort(reason: unknown): void
  /** Registers work that goes on after the answer: a drain waits for it, and the platform keeps it alive if it can. */
  track(work: Promise<unknown>): void
}

export type Denial =
  | { readonly status: 'duplicate' }
  /** Another delivery of the event is being handled. */
  | { readonly status: 'in_flight'; readonly retryAfterMs: number }

/** The right to run a handler once, and the duty to record how it ended. */
export interface Execution {
  readonly status: 'granted'
  /** False if the event runs without protection. */
  readonly deduplicated: boolean
  /** 1 at the first grant; absent if nothing counts. */
  readonly attempt?: number
  /** The transaction of an inbox. */
  readonly tx: unknown
  /** Calls the handler, and returns or throws its result. */
  invoke(handler: () => unknown): unknown
  /** The error for the sender while the end is being recorded and may still fail; `undefined` if the sender may be told the end at once. */
  unconfirmedError(end: HandlerEnd): unknown
  /** Records the end, however late. Never throws or rejects. */
  commit(end: HandlerEnd): MaybePromise<CommitResult>
  /** Gives up the handler for this reason and releases its place. The handler may still end, and be committed. */
  abandon(reason: unknown): void
  /** A sentence for the log on what may block the handler, if known. Never throws. */
  hint?(): string
}

/** How a handler ended: `handled` and `discarded` are final; after anything else the event runs again. */
export interface HandlerEnd {
  readonly outcome: string
  readonly error?: unknown
}

/** Whether the end is confirmed, or otherwise how the delivery ended. */
export type CommitResult = typeof CONFIRMED | Denial | { readonly status: 'fault'; readonly error: unknown }

export const CONFIRMED = 'confirmed'

export function isDone({ outcome }: HandlerEnd): boolean {
  return outcome === 'handled' || outcome === 'discarded'
}

/** The execution of an unprotected event: nothing is recorded. */
export const UNPROTECTED: Execution = {
  status: 'granted',
  deduplicated: false,
  tx: undefined,
  invoke: (handler) => handler(),
  unconfirmedError: () => undefined,
  commit: () => CONFIRMED,
  abandon() {},
}
