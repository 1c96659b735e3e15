/** Whether the service still retries a failed event, or the event waits for a replay: see the option `parkAfter`. */
export type FailureState = 'failing' | 'parked'

/** After how much an event is parked: whichever of the two is reached first. Neither: never. */
export interface ParkTerms {
  /** Deliveries that failed; replays do not count. */
  readonly attempts?: number
  /** Milliseconds from the first failure to the delivery that fails now. */
  readonly ms?: number
}

/** An authentic delivery that was not handled, as a receiver gives it to a ledger. The ledger adds the dates, by its own clock. */
export interface FailedDelivery {
  /** The event's key; for a delivery that has none yet, a key of its bytes. At most 255 characters of printable ASCII. */
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
  /** The code of the outcome, such as `handler_failed`. */
  readonly code: string
  /** The message of the error without bound parameters of a database: at most 1,000 characters. */
  readonly message: string
  /** Equal for all failures of one cause: 16 hexadecimal digits. */
  readonly group: string
  /** Whether it was a replay that failed: the state and the retention then stay as they were. */
  readonly isReplay: boolean
  readonly parkAfter?: ParkTerms
  /** How long the event is kept from now, in milliseconds, if a delivery failed. */
  readonly retainMs: number
}
