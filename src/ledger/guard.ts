import type { MaybePromise } from '../lib/maybe-promise.js'
import type { AlarmClock } from '../lib/time/alarm-clock.js'
import type { FailedDelivery } from './failure.js'
import { type ClaimRequest, type EventFacts, isLedger, type ReplayTerms } from './store.js'

/** Makes sure that an event's handler runs once: with a lease on a store, or in a transaction of an inbox. Each receiver has one. */
export interface Guard<Request = unknown> {
  /**
   * Calls `work`, unless the event has been handled, is being handled now or is parked, and records how it ended. A ledger keeps a failure in the
   * same record. If all of it is synchronous, so is the result. It waits for the right to call `work` no longer than to the deadline.
   *
   * @param key `null`: the event runs without deduplication, and nothing of it is kept
   * @returns the end of the work, or the reason why it was not called, or is not called again
   * @throws StoreError when the backend is down, full or too slow; once the work has ended, only if its end may be lost
   * @throws ConfigurationError when the user's function makes no store, or no inbox, for the request
   */
  run<End extends WorkEnd>(
    key: string | null,
    delivery: GuardedDelivery<Request>,
    work: Work<End>,
  ): MaybePromise<End | Denial>
  /**
   * Keeps the failure of a delivery that ended before its run, if the backend is a ledger. Never rejects.
   *
   * @returns whether the event is parked now
   */
  keep(delivery: GuardedDelivery<Request>, end: WorkEnd): Promise<boolean>
  /** Asks the backend whether it can be used; absent if it cannot be asked. Rejects with the reason. */
  check?: (() => unknown) | undefined
}

/** Runs the handler. It never throws or rejects; it may settle after it was given up. */
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
  readonly attempt?: number | undefined
  /** The transaction of an inbox. */
  readonly tx: unknown
  /** The error for the sender while the end is being recorded and may still be lost; `undefined` if the sender may get the end at once. */
  unconfirmedError(end: WorkEnd): unknown
  /** Gives up the handler, keeps that end, and releases its slot. The work may still end, and be recorded. */
  giveUp(end: WorkEnd): void
  /** A sentence for the log on what may block the handler, if known. Never throws. */
  hint?(): string
}

/** The part of a delivery that a guard needs. */
export interface GuardedDelivery<Request = unknown> {
  readonly request: Request
  readonly clock: AlarmClock
  /** What a ledger writes of the event at its first delivery. */
  readonly facts: EventFacts
  /** Present for a replay. */
  readonly replay: ReplayTerms | undefined
  /**
   * The failure for a ledger to keep; `undefined` if the end is not one that is kept, or the event has no key.
   *
   * @param retainMs how long events are kept
   */
  failureOf(end: WorkEnd, retainMs: number): MaybePromise<FailedDelivery | undefined>
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

export const DUPLICATE: Denial = { status: 'duplicate' }

/** The answer to a delivery whose failure has parked its event. */
export function parkedBy({ error }: WorkEnd): Denial {
  return error === undefined ? { status: 'parked' } : { status: 'parked', error }
}

export function isDone({ outcome }: WorkEnd): boolean {
  return outcome === 'handled' || outcome === 'discarded' || outcome === 'duplicate'
}

/** What only a ledger is told. */
export function termsFor(
  backend: object,
  { facts, replay }: Pick<GuardedDelivery, 'facts' | 'replay'>,
): Pick<ClaimRequest, 'about' | 'replay'> | undefined {
  if (!isLedger(backend)) return undefined
  return replay === undefined ? { about: facts } : { about: facts, replay }
}

/** The grant of an unprotected event: nothing is recorded. */
export const UNPROTECTED: Grant = {
  deduplicated: false,
  tx: undefined,
  unconfirmedError: () => undefined,
  giveUp() {},
}
