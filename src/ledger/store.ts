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
}

export type ClaimResult =
  /**
   * Run the handler. `attempt` is 1 on the first run and rises at each grant. It is a fencing number if the backend loses no record;
   * otherwise it restarts at 1.
   */
  | { readonly status: 'claimed'; readonly attempt: number }
  /** It has been handled: do nothing. */
  | { readonly status: 'completed' }
  /** Another delivery is being handled now; its lease lasts `retryAfterMs` longer. */
  | { readonly status: 'in_flight'; readonly retryAfterMs: number }

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
  /**
   * Whether its records end with the process. `attempt` then does not say whether an event has failed before, and the receiver asks its
   * option `failures` before each run. Default false.
   */
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
   * Absent, or running or completed with this token: completed, and kept for `retainMs` from now. Otherwise `false`. An absent record is
   * written, because a backend that lost it during the run must not cause a second run.
   */
  complete(lease: Lease, retainMs: number): boolean | Promise<boolean>
  /** Running or released with this token: released, so that the next claim takes it. Otherwise `false`. */
  release(lease: Lease): boolean | Promise<boolean>
  /**
   * For `health()`: resolves if the backend can be reached and has what the store needs, and rejects with the reason if not. It changes no
   * record, and its error names no credentials.
   */
  check?(): void | Promise<void>
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
  complete(lease: Lease, retainMs: number): Promise<boolean>
  release(lease: Lease): Promise<boolean>
  /**
   * Resolves if the backend can be reached, and has the table and the rights for deliveries; it changes no record.
   *
   * @throws StoreError otherwise, with advice and without credentials
   */
  check(): Promise<void>
}

/** A store that does not delete expired records by itself. */
export interface Purgeable {
  /**
   * Deletes records past their retention, oldest first, and no other records.
   *
   * @param options.limit the most records to delete, so that one call stays short. Default 1,000
   * @returns the number of deleted records
   */
  purge(options?: { readonly limit?: number }): Promise<number>
}
