import type { AlarmClock } from '../lib/alarm-clock.js'
import type { MaybePromise } from '../lib/maybe-promise.js'

/**
 * Stands between a delivery and its handler, so that an event runs once: a lease on a store, or the transaction of an inbox.
 * Each receiver has one.
 */
export interface Guard {
  /**
   * Grants the run, unless the event has been handled or is being handled now.
   *
   * @param key `null`: the event runs without deduplication
   * @throws StoreError when the backend is down, full, or too slow
   */
  acquire(key: string | null, delivery: GuardedDelivery): MaybePromise<Execution | Denial>
}

/** The delivery, as far as a guard needs it. */
export interface GuardedDelivery {
  readonly clock: AlarmClock
  /** Reports a fault that decides nothing. */
  report(error: unknown): void
  /** Aborts the handler's signal. */
  abort(reason: unknown): void
  /** Keeps a drain waiting, and the platform if it can, for work that goes on after the answer. */
  track(work: Promise<unknown>): void
}

export type Denial =
  | { readonly status: 'duplicate' }
  /** Another delivery of the event is being handled. */
  | { readonly status: 'in-flight'; readonly retryAfterMs: number }

/** The right to run a handler once, and the duty to record how that ended. */
export interface Execution {
  readonly status: 'granted'
  /** False if the event runs without protection. */
  readonly deduplicated: boolean
  /** 1 at the first grant; absent if nobody counts. */
  readonly attempt?: number
  /** The transaction of an inbox. */
  readonly tx: unknown
  /** Calls the handler, and returns or throws its result. */
  invoke(handler: () => unknown): unknown
  /** The reason why an end is not certain while it is being recorded; `undefined` if the sender may be told of it. */
  doubt(end: HandlerEnd): unknown
  /** Records the end, however late. Never throws or rejects. */
  commit(end: HandlerEnd): MaybePromise<CommitResult>
  /** The handler is given up for this reason, so what holds its place lets go. It may still end, and be committed. */
  abandon(reason: unknown): void
  /** A sentence on what may hold up the handler, for the log, or none. Never throws. */
  hint?(): string
}

/** How a handler ended: `handled` and `discarded` are done, anything else is to run again. */
export interface HandlerEnd {
  readonly outcome: string
  readonly error?: unknown
}

/** Whether the end stands as it was, or else how the delivery ended. */
export type CommitResult = typeof AS_ENDED | Denial | { readonly status: 'fault'; readonly error: unknown }

export const AS_ENDED = 'as-ended'

/** How soon a sender should try again if nobody knows better. */
export const RETRY_MS = 5_000

export function isDone({ outcome }: HandlerEnd): boolean {
  return outcome === 'handled' || outcome === 'discarded'
}

/** The execution of an event that runs without protection: nothing is recorded. */
export const UNPROTECTED: Execution = {
  status: 'granted',
  deduplicated: false,
  tx: undefined,
  invoke: (handler) => handler(),
  doubt: () => undefined,
  commit: () => AS_ENDED,
  abandon() {},
}
