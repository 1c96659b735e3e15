import { PAUSES_MS, STATEMENT_MS, STORE_CALL_MS } from '../durations.js'
import { StoreError } from '../errors.js'
import { shownMessageOf } from '../lib/errors/redact-error.js'
import type { MaybePromise } from '../lib/promises.js'
import type { AlarmClock } from '../lib/time/alarm-clock.js'
import type { FailedDelivery } from './failure.js'
import {
  type ClaimRequest,
  type EventFacts,
  isLedger,
  type KeepResult,
  type KeepsFailures,
  type ReplayTerms,
} from './store.js'
import { readKeepResult, validated } from './store-call.js'

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
  /** Gives up the handler, keeps its failure, and releases its slot. The work may still end, and be recorded. */
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

/** Receivers of this process that have made a token. */
let sources = 0

/**
 * Makes the tokens of one receiver: a random prefix and a counter, which costs less than a UUID for each delivery. The prefix is made at
 * the first call, because some runtimes refuse randomness outside a request. It has the number of the source, because tests like to
 * stub randomness, and two receivers with the same tokens would take each other's leases for their own.
 *
 * @param randomUuid called once
 */
export function tokenSource(randomUuid: () => string): () => string {
  let prefix: string | undefined
  let count = 0
  return () => {
    if (prefix === undefined) {
      sources += 1
      prefix = `${randomUuid()}.${sources.toString(36)}`
    }
    count += 1
    return `${prefix}.${count.toString(36)}`
  }
}

/** The part of a delivery that keeping its failure needs. */
type Failing = Pick<GuardedDelivery, 'failureOf' | 'clock' | 'replay' | 'report' | 'track' | 'vacate'>

/**
 * Keeps the failure of a delivery that has no lease, if the backend is a ledger. It is sent once, because a backend could not tell a second
 * copy from another failure: what is not kept now is kept at the next retry. Never rejects: what fails is reported.
 *
 * @returns whether the event is parked now, and this is no replay
 */
export async function keepFailure(
  backend: object,
  delivery: Failing,
  end: WorkEnd,
  retainMs: number,
): Promise<boolean> {
  if (!isLedger(backend)) return false
  let failed: FailedDelivery | undefined
  try {
    failed = await delivery.failureOf(end, retainMs)
    if (failed === undefined) return false
    const { clock } = delivery
    const keeping = send(backend, failed, delivery)
    // Many that fail together must not hold up those that do not, and their senders do not wait for each other.
    delivery.vacate(Promise.resolve())
    const kept = await clock.within(keeping, clock.nowMs + STORE_CALL_MS, () => 'later' as const)
    if (kept === 'later' || kept === 'in_flight')
      delivery.track(keepLater(keeping, backend, failed, delivery))
    return kept === 'parked' && delivery.replay === undefined
  } catch (error) {
    delivery.report(notKept(failed, error))
    return false
  }
}

async function send(
  backend: KeepsFailures,
  failed: FailedDelivery,
  { clock }: Pick<Failing, 'clock'>,
): Promise<KeepResult> {
  const sent = Promise.resolve().then(() => backend.keep(failed))
  const kept = await clock.within<unknown>(sent, clock.nowMs + STATEMENT_MS, () => {
    throw new StoreError('store_unavailable', 'it took too long.')
  })
  return validated('keep', kept, readKeepResult)
}

/** While another delivery of the event runs: if it succeeds there is nothing to keep; if it takes longer, it keeps its own failure. */
async function keepLater(
  keeping: Promise<KeepResult>,
  backend: KeepsFailures,
  failed: FailedDelivery,
  delivery: Failing,
): Promise<void> {
  try {
    let kept = await keeping
    for (const pauseMs of PAUSES_MS) {
      if (kept !== 'in_flight') return
      await delivery.clock.pause(pauseMs, true)
      kept = await send(backend, failed, delivery)
    }
  } catch (error) {
    delivery.report(notKept(failed, error))
  }
}

/** The error for a failure that was not kept: the answer is as without it. */
export function notKept(failed: Pick<FailedDelivery, 'key'> | undefined, cause: unknown): StoreError {
  return new StoreError(
    'not_kept',
    `The failure of ${failed?.key ?? 'an event'} could not be kept: ${shownMessageOf(cause)}`,
    { cause },
  )
}
