/** Whether the service still retries a failed event, or the event waits for a replay: see the option `parkAfter`. */
export type FailureState = 'failing' | 'parked'

/** An authentic delivery that was not handled, as a receiver gives it to `keep`. */
export interface FailedDelivery {
  /** The event's key; for an event without one, a key of its bytes. At most 255 characters of printable ASCII. */
  readonly key: string
  /** The namespace of the receiver, with which the key begins. */
  readonly namespace: string
  /** The id of the account; absent without the option `account`. */
  readonly account?: string
  /** Empty if the envelope could not be read. At most 255 characters. */
  readonly kind: string
  /**
   * The `id` of the envelope; if it has none that can be kept, that of the event that an `event.*` is about, `evt_…`. At most 255 characters.
   */
  readonly eventId?: string
  /** The id of the order, if the event has one of at most 255 characters. */
  readonly orderId?: string
  /** The bytes as they were sent: up to `maxBodyBytes`, and any bytes at all. */
  readonly rawBody: Uint8Array
  readonly signedAt: Date
  /** The index of the secret that matched. */
  readonly secretIndex: number
  readonly failedAt: Date
  /** The code of the outcome, such as `handler_failed`. */
  readonly code: string
  /** The message of the error without bound parameters of a database: at most 1,000 characters. */
  readonly message: string
  /** Equal for all failures of one cause: 16 hexadecimal digits. */
  readonly group: string
  /** Whether it was a replay that failed. */
  readonly isReplay: boolean
  /** After how many attempts, or milliseconds since the first failure, the event is parked: whichever is first. Absent: never. */
  readonly parkAfter?: { readonly attempts?: number; readonly ms?: number }
}

/** A failed event, as it is kept: one for each key, however often it fails. */
export interface Failure extends Omit<FailedDelivery, 'failedAt' | 'isReplay' | 'parkAfter'> {
  readonly state: FailureState
  /** When it first failed. */
  readonly firstAt: Date
  /** When it last failed. */
  readonly lastAt: Date
  /** How often it has failed, replays included. */
  readonly attempts: number
  /** How many replays have failed. */
  readonly replays: number
  /** When a replay last failed; absent if none has. */
  readonly lastReplayedAt?: Date
}

/** The position of a failure in a list: of several with the same date, the key decides. */
export type FailurePosition = Pick<Failure, 'lastAt' | 'key'>

/** Which failures are wanted. All conditions must hold. */
export interface FailureFilter {
  readonly state?: FailureState | undefined
  readonly kind?: string | undefined
  readonly account?: string | undefined
  readonly namespace?: string | undefined
  readonly group?: string | undefined
  /** The `id` of the envelope, or that of the event that an `event.*` is about: see `FailedDelivery`. */
  readonly eventId?: string | undefined
  /** The id of the order. */
  readonly orderId?: string | undefined
}

/** The part of a list of failures that is wanted. */
export interface FailureQuery extends FailureFilter {
  /** By the date of the last failure. Default `newest`. */
  readonly order?: 'newest' | 'oldest' | undefined
  /** Only those that last failed before this date, or that come before this failure: the last of the previous page. */
  readonly before?: Date | FailurePosition | undefined
  /** Only those that last failed after this date, or that come after this failure: with `order: 'oldest'`, the last of the previous page. */
  readonly after?: Date | FailurePosition | undefined
  /** The most that are returned, each with its bytes. 1 to 1,000. Default 100. */
  readonly limit?: number | undefined
}

/** The failures of one cause. */
export interface FailureGroup {
  readonly group: string
  readonly count: number
  /** When the first of them first failed. */
  readonly firstAt: Date
  /** When one of them last failed. */
  readonly lastAt: Date
  /** Of the one that failed last, like the code and the message. */
  readonly kind: string
  readonly code: string
  readonly message: string
}

/**
 * Keeps what was not handled: `postgresFailures`, `mysqlFailures`, `sqliteFailures` and `memoryFailures` make one. Implement it for any backend that can
 * update a record atomically, and hold it to `failureCases` of `tix-webhooks/testing`. A method that cannot reach its backend rejects.
 */
export interface Failures {
  /**
   * How long a failure is kept after its last attempt, in seconds. A receiver remembers handled events for the same time, unless it has a
   * `retentionSeconds` of its own. Default 2,592,000 (30 days).
   */
  readonly retentionSeconds?: number
  /**
   * ONE atomic operation, whatever else happens to the same key. Absent: a failure of one attempt, and of one replay if it was one. Else
   * `attempts` rises by one, and after a replay so does `replays`; `firstAt` stays; `lastAt` is the later of the two dates, and `lastReplayedAt`
   * that of the replay; the rest is that of the new delivery. It becomes `parked` once `attempts` reaches `parkAfter.attempts`, or `lastAt` is
   * `parkAfter.ms` after `firstAt`; what is parked stays so.
   *
   * @returns the state that it has now
   */
  keep(failed: FailedDelivery): FailureState | Promise<FailureState>
  get(key: string): Failure | undefined | Promise<Failure | undefined>
  /** @returns whether there was one */
  delete(key: string): boolean | Promise<boolean>
  /**
   * Finds all that was kept before the call, without lag; equal dates are ordered by key, byte by byte, and an invalid query SHOULD be
   * refused with a `TypeError`.
   */
  list(query?: FailureQuery): readonly Failure[] | Promise<readonly Failure[]>
  /** By cause, those with the latest failure first. At most `limit`, from 1 to 1,000; default 100. */
  groups(
    query?: FailureFilter & { readonly limit?: number | undefined },
  ): readonly FailureGroup[] | Promise<readonly FailureGroup[]>
  count(filter?: FailureFilter): number | Promise<number>
  /** For `health()`: rejects with a `StoreError` if the backend cannot be used, without credentials in its message. */
  check?(): void | Promise<void>
}

/** Failures with a backend of ours: each of its methods returns a promise. */
export interface KeptFailures extends Failures {
  keep(failed: FailedDelivery): Promise<FailureState>
  /**
   * The failure of this key; `undefined` if there is none.
   *
   * @throws TypeError when the key is no string of 1 to 255 characters of printable ASCII
   */
  get(key: string): Promise<Failure | undefined>
  /**
   * Forgets a failure, for an event that is never to be handled. If the service still retries the event, it is kept again when it fails.
   *
   * @returns whether there was one
   */
  delete(key: string): Promise<boolean>
  /**
   * The failures, newest first. One that fails again becomes the newest: pages that must not miss it go forward, by `order: 'oldest'` and
   * `after`.
   *
   * @throws TypeError when the query is invalid
   * @example
   * ```ts
   * import { memoryFailures } from 'tix-webhooks'
   *
   * const failures = memoryFailures()
   * const page = await failures.list({ state: 'parked', limit: 20 })
   * const next = await failures.list({ state: 'parked', limit: 20, before: page.at(-1) })
   * ```
   */
  list(query?: FailureQuery): Promise<readonly Failure[]>
  /**
   * The failures by cause: one bug is one group. Those with the latest failure first.
   *
   * @throws TypeError when the query is invalid
   */
  groups(query?: FailureFilter & { readonly limit?: number | undefined }): Promise<readonly FailureGroup[]>
  /**
   * The number of failures.
   *
   * @throws TypeError when the filter is invalid
   */
  count(filter?: FailureFilter): Promise<number>
  /**
   * Deletes failures whose last attempt is longer ago than `retentionSeconds`, oldest first. They can no longer be replayed.
   *
   * @param options.limit the most failures to delete, so that one call stays short. Default 1,000
   * @returns the number of deleted failures
   */
  purge(options?: { readonly limit?: number }): Promise<number>
}
