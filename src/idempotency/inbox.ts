/** What a delivery asks of an inbox. */
export interface OnceRequest {
  /** At most 255 characters of printable ASCII; `null` for a plain transaction, without deduplication. */
  readonly key: string | null
  /** How long the record is kept, in milliseconds. */
  readonly retainMs: number
  /**
   * When the run is given up, in milliseconds from the call: `work` rejects then, though the handler goes on. An inbox may have
   * its database end the transaction a little later, for the case that a statement is stuck and holds up the roll-back.
   */
  readonly maxRunMs?: number
}

export type OnceResult =
  /** What the handler wrote and the record of the event are committed. */
  | 'handled'
  /** The handler threw `Discard`: what it wrote is rolled back, and the record of the event is committed. */
  | 'discarded'
  /** The event had been handled before, or was meanwhile: nothing of this delivery is kept. */
  | 'duplicate'
  /** Another delivery of the event is in its transaction right now. */
  | 'in-flight'

/**
 * Runs handlers in transactions: what a handler writes and the record that the event was handled are committed together,
 * or not at all. `postgresInbox` and `sqliteInbox` make one.
 *
 * @typeParam Tx what handlers get as `ctx.tx`
 */
export interface Inbox<Tx> {
  /**
   * Opens a transaction, calls `work` in it unless the event is handled or in flight, and commits when `work` resolves.
   * Where `work` rejects, everything is rolled back and `once` rejects with the same error; after a `Discard` the record
   * alone is committed. Where the commit failed, or nobody knows whether it did, it rejects: it never guesses. An inbox that
   * loses its connection while `work` runs rejects at once: the handler's `ctx.signal` then aborts.
   */
  once(request: OnceRequest, work: (tx: Tx) => Promise<void>): Promise<OnceResult>
  /** A sentence on what may hold up a handler that has not returned by the deadline, for the log; `undefined` if nothing is known. */
  hint?(): string | undefined
}
