import type { FailedDelivery, FailureState } from './failure.js'
import type { Ledger } from './ledger.js'

/** Identifies one holder of one key. */
export interface Lease {
  /** At most 255 characters of printable ASCII: the receiver hashes what is longer. */
  readonly key: string
  /** An opaque string of at most 64 characters of printable ASCII, made by the receiver, new for each delivery. */
  readonly token: string
}

/** A delivery's request to run its handler. */
export interface ClaimRequest extends Lease {
  /** How long the holder may run without renewing, in milliseconds. */
  readonly leaseMs: number
  /** How long the record is kept from now if it does not change, in milliseconds; never less than `leaseMs`. */
  readonly retainMs: number
  /** What is written to a ledger at the first claim of an event. A store alone ignores it. */
  readonly about?: EventFacts
  /** Only for a ledger: present for a replay, which runs a parked event too. */
  readonly replay?: ReplayTerms
}

/** What is known of an event when it is first claimed. */
export interface EventFacts {
  /** The namespace of the receiver, with which the key begins. */
  readonly namespace: string
  /** The id of the account; absent without the option `account`. */
  readonly account?: string
  readonly kind: string
}

export interface ReplayTerms {
  /**
   * How many failures and failed replays the event had when it was listed. If it has another number now, nothing runs: of two processes that
   * have listed the same event, one runs it.
   */
  readonly seen: number
}

export type ClaimResult =
  /**
   * Run the handler. `attempt` is 1 on the first run and rises at each grant. It is a fencing number if the backend loses no record;
   * otherwise it restarts at 1.
   */
  | { readonly status: 'claimed'; readonly attempt: number }
  /** It has been handled, or discarded: do nothing. */
  | { readonly status: 'completed' }
  /** Another delivery is being handled now; its lease lasts `retryAfterMs` longer. */
  | { readonly status: 'in_flight'; readonly retryAfterMs: number }
  /** Only of a ledger: the event waits for a replay. */
  | { readonly status: 'parked' }

/**
 * Remembers handled events. Implement it for any backend that can compare and set.
 *
 * Each method is ONE atomic decision for all processes, and is safe to send again after a lost reply: each write is one conditional write,
 * made again from the reading if the record has changed. One round trip is best, and no law. A method that cannot reach its backend
 * rejects; it never guesses. A synchronous method may return its result without a promise, or throw. `renew`, `complete` and `release`
 * compare the token, not the clock. A record past its retention is absent to all four.
 *
 * Leases and retentions are counted by one clock, that of the backend if it has one: a process whose clock is ahead must not take over a
 * lease. If it has none, the store takes an option `now`, and its hosts are synchronised to much less than a lease.
 */
export interface IdempotencyStore {
  /** Whether its records end with the process. Default false. */
  readonly isVolatile?: boolean
  /**
   * Absent, expired, released by another token, or with an expired lease: take it.
   * Running with this token: repeat the grant (same attempt, new lease).
   * Released with this token: change nothing, and return `in_flight` with `retryAfterMs: 1`.
   */
  claim(request: ClaimRequest): ClaimResult | Promise<ClaimResult>
  /** Running with this token: a new lease of `leaseMs` from now. Otherwise `false`, and nothing changes. */
  renew(lease: Lease, leaseMs: number): boolean | Promise<boolean>
  /**
   * Absent, or not completed yet and with this token, released or running: completed, and kept for `retainMs` from now. Completed with this
   * token: `true`. Otherwise `false`. An absent record is written, because a backend that lost it during the run must not cause a second run.
   *
   * @param discarded only for a ledger: the reason, if the event is to be recorded as discarded instead of handled
   */
  complete(
    lease: Lease,
    retainMs: number,
    discarded?: { readonly reason: string },
  ): boolean | Promise<boolean>
  /** Running or released with this token: released, so that the next claim takes it. Otherwise `false`. */
  release(lease: Lease): boolean | Promise<boolean>
  /**
   * For `health()`: resolves if the backend can be reached and has what the store needs, and rejects with the reason if not. It changes no
   * record, and its error names no credentials.
   */
  check?(): void | Promise<void>
}

/** How a failure was kept: its state now, or the reason why it was not. */
export type KeepResult =
  | FailureState
  /** The event has been handled, or discarded. */
  | 'handled'
  /** Another delivery of the event runs: its end decides. */
  | 'in_flight'

/** What stores and inboxes that are ledgers have in common. */
export interface KeepsFailures {
  /**
   * Keeps the failure of a delivery that has no run to release: it was never claimed, or its transaction is rolled back. Handled: nothing is
   * kept. While another delivery has a lease or the transaction of the event, nothing changes.
   */
  keep(failed: FailedDelivery): KeepResult | Promise<KeepResult>
  /**
   * Removes all that is known of a key of bytes, whose event has a key of its own by now.
   *
   * @returns whether there was something
   */
  forget(key: string): boolean | Promise<boolean>
  /** What became of each event. */
  readonly ledger: Ledger
}

/**
 * A store that also keeps the failures of events, in the record of the event itself: a ledger. Hold one of your own to `ledgerCases` of
 * `tix-webhooks/testing`.
 *
 * `claim` then returns `parked` for a parked event, unless it is a replay; and any final end of the event, by `complete` or by an inbox on the
 * same table, removes its failure in the same write.
 */
export interface LedgerStore extends IdempotencyStore, KeepsFailures {
  /**
   * `release` and the failure of the run, in one write, decided in this order. Handled: nothing is kept. Released with this token, with a
   * failure: it was sent again, and nothing changes. Otherwise the failure is kept, and the record released if it is running with this token. The
   * token never changes, so that a run that was given up and settles late still completes its record.
   */
  fail(lease: Lease, failed: FailedDelivery): KeepResult | Promise<KeepResult>
}

/** A store or an inbox that says which events were handled: each of ours. */
export interface HandledRecords {
  /**
   * Whether an event was handled: its record is completed, and within its retention by the clock of the store. It is false while the event
   * is being handled, and after a run that failed.
   *
   * @param key the whole key of the record, such as `orders/order.created/ord_1`
   * @throws TypeError when the key is no string of 1 to 255 characters of printable ASCII
   * @throws StoreError when the backend fails: it never guesses
   * @example
   * ```ts
   * import { memoryStore } from 'tix-webhooks'
   *
   * const store = memoryStore()
   * await store.isHandled('orders/order.created/ord_1') // false
   * ```
   */
  isHandled(key: string): Promise<boolean>
}

/** A store with a remote backend, so that all of its methods return promises. */
export interface RemoteStore extends IdempotencyStore, HandledRecords {
  claim(request: ClaimRequest): Promise<ClaimResult>
  renew(lease: Lease, leaseMs: number): Promise<boolean>
  complete(lease: Lease, retainMs: number, discarded?: { readonly reason: string }): Promise<boolean>
  release(lease: Lease): Promise<boolean>
  /**
   * Resolves if the backend can be reached, and has the table and the rights for deliveries; it changes no record.
   *
   * @throws StoreError otherwise, with advice and without credentials
   */
  check(): Promise<void>
}

/** The same for a ledger. */
export interface RemoteLedgerStore extends RemoteStore, Omit<LedgerStore, keyof RemoteStore> {
  fail(lease: Lease, failed: FailedDelivery): Promise<KeepResult>
  keep(failed: FailedDelivery): Promise<KeepResult>
  forget(key: string): Promise<boolean>
}

/** A store or an inbox that does not delete expired records by itself. */
export interface Purgeable {
  /**
   * Deletes records past their retention, oldest first, and no other records.
   *
   * @param options.limit the most records to delete, so that one call stays short. Default 1,000
   * @returns the number of deleted records
   */
  purge(options?: { readonly limit?: number }): Promise<number>
}

/** Whether a store or an inbox keeps failures too. */
export function isLedger<T extends object>(backend: T): backend is T & KeepsFailures {
  const { keep, forget, ledger } = backend as Partial<KeepsFailures>
  return typeof keep === 'function' && typeof forget === 'function' && typeof ledger === 'object'
}
