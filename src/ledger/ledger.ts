import type { FailureState } from './failure.js'

/**
 * What became of an event. `pending`: it was seen and is not handled, and nothing is kept against it. In an inbox an event shows neither
 * `running` nor `pending`.
 */
export type EventState = 'running' | 'pending' | FailureState | 'handled' | 'discarded'

/** What a ledger knows of one event. */
export interface EventRecord {
  readonly key: string
  readonly namespace: string
  /** Absent without the option `account`. */
  readonly account?: string
  /** Empty if the envelope could not be read. */
  readonly kind: string
  /** Of an event that failed, like the id of the order. */
  readonly eventId?: string
  readonly orderId?: string
  readonly state: EventState
  /** How often its handler has run, as far as that was recorded: an inbox records a run by its failure or its commit. */
  readonly attempts: number
  /** When it was first seen. All dates are of the clock of the ledger. */
  readonly receivedAt: Date
  /** When it is forgotten. */
  readonly expiresAt: Date
  /** Present if it is handled or discarded. */
  readonly handledAt?: Date
  /** Of a discard. */
  readonly reason?: string
  /** Of a kept delivery, like the rest. */
  readonly signedAt?: Date
  /** The index of the secret that matched. */
  readonly secretIndex?: number
  /** The number of its bytes. */
  readonly size?: number
  /** As they were sent; of `get`, and of `list` with `bodies: true`. */
  readonly rawBody?: Uint8Array
  /** Present if it is failing or parked. */
  readonly failure?: EventFailure
}

/** Why an event is not handled. */
export interface EventFailure {
  /** The code of the outcome, such as `handler_failed`. */
  readonly code: string
  readonly message: string
  /** Equal for all failures of one cause. */
  readonly group: string
  /** How many deliveries have failed. */
  readonly count: number
  /** When it first failed. */
  readonly firstAt: Date
  /** When it last failed. */
  readonly lastAt: Date
  /** When a delivery of it last failed. */
  readonly deliveredAt: Date
  /** How many replays have failed. */
  readonly replays: number
  /** When a replay last failed; absent if none has. */
  readonly lastReplayedAt?: Date
}

/** Which events are wanted. All conditions must hold. */
export interface EventFilter {
  /** Default: failing and parked. */
  readonly state?: FailureState | 'handled' | 'discarded' | undefined
  readonly namespace?: string | undefined
  readonly account?: string | undefined
  readonly kind?: string | undefined
  readonly group?: string | undefined
  /** Of kept events. */
  readonly eventId?: string | undefined
  /** Of kept events. */
  readonly orderId?: string | undefined
}

/** The position of an event in a list, which never changes: of several with the same date, the key decides. */
export type EventPosition = Pick<EventRecord, 'receivedAt' | 'key'>

/** The part of a list that is wanted. */
export interface EventQuery extends EventFilter {
  /** By the date on which they were first seen. Default `newest`. */
  readonly order?: 'newest' | 'oldest' | undefined
  /** Only those that were first seen before this date, or that come before this event: the last of the previous page. */
  readonly before?: Date | EventPosition | undefined
  /** Only those that were first seen after this date, or that come after this event: with `order: 'oldest'`, the last of the previous page. */
  readonly after?: Date | EventPosition | undefined
  /** The most that are returned: 1 to 1,000, default 100; with bodies 1 to 20, default 20. */
  readonly limit?: number | undefined
  /** Whether the events have their bytes. Default false. */
  readonly bodies?: boolean | undefined
}

/** The events of one cause. */
export interface EventGroup {
  readonly group: string
  readonly count: number
  readonly failing: number
  readonly parked: number
  /** How many of their replays have failed. */
  readonly replays: number
  /** When the first of them first failed. */
  readonly firstAt: Date
  /** When one of them last failed. */
  readonly lastAt: Date
  /** Of the one that failed last, like the code and the message. */
  readonly kind: string
  readonly code: string
  readonly message: string
}

/** What became of each event, and `discard` for those that nothing will handle. A method that cannot reach its backend rejects. */
export interface Ledger {
  /**
   * What is known of one event, with its bytes if they are kept; `undefined` if it is not known.
   *
   * @throws TypeError when the key is no string of 1 to 255 characters of printable ASCII
   * @example
   * ```ts
   * import { memoryStore } from 'tix-webhooks'
   *
   * const { ledger } = memoryStore()
   * const event = await ledger.get('orders/order.created/ord_1')
   * console.log(event?.state ?? 'not received')
   * ```
   */
  get(key: string): Promise<EventRecord | undefined>
  /**
   * Events, newest first by the date on which they were first seen; without `state` those that are failing or parked. A page that begins
   * after the last event of another skips and repeats none, whatever happens to them meanwhile.
   *
   * @throws TypeError when the query is invalid
   * @example
   * ```ts
   * import { memoryStore } from 'tix-webhooks'
   *
   * const { ledger } = memoryStore()
   * const page = await ledger.list({ state: 'parked', limit: 20 })
   * const next = await ledger.list({ state: 'parked', limit: 20, before: page.at(-1) })
   * ```
   */
  list(query?: EventQuery): Promise<readonly EventRecord[]>
  /**
   * The failing and parked events by cause: one bug is one group. Those with the latest failure first.
   *
   * @param query.limit the most groups: 1 to 1,000, default 100
   * @throws TypeError when the query is invalid
   */
  groups(query?: EventFilter & { readonly limit?: number | undefined }): Promise<readonly EventGroup[]>
  /**
   * The number of events, but 10,001 if there are more than 10,000.
   *
   * @throws TypeError when the filter is invalid
   */
  count(filter?: EventFilter): Promise<number>
  /**
   * Records an event as discarded: later deliveries of it are duplicates, and its bytes are removed.
   *
   * @returns `handled` if it was already handled or discarded, `in_flight` while it is being handled, `undefined` if it is not known
   * @throws TypeError when the key is invalid, or there is no reason
   */
  discard(
    key: string,
    options: { readonly reason: string },
  ): Promise<'discarded' | 'handled' | 'in_flight' | undefined>
}
