/** A delivery's request to an inbox. */
export interface OnceRequest {
  /** At most 255 characters of printable ASCII; `null` for a plain transaction, without deduplication. */
  readonly key: string | null
  /** How long the record is kept, in milliseconds. */
  readonly retainMs: number
  /**
   * How long the handler may run, in milliseconds from the call: after that `work` rejects, though the handler goes on. An inbox may have
   * its database end the transaction a little later, in case a stuck statement blocks the rollback.
   */
  readonly maxRunMs?: number
}

/** How a delivery's transaction ended. */
export interface OnceResult {
  readonly status: /** The handler's writes and the record of the event are committed. */
    | 'handled'
    /** The handler threw `Discard`: its writes are rolled back, and the record of the event is committed. */
    | 'discarded'
    /** The event was already handled, or has been meanwhile: nothing of this delivery is kept. */
    | 'duplicate'
    /** Another delivery of the event is in its transaction right now. */
    | 'in_flight'
}

/** A pool of connections. */
export interface InboxConnections {
  /** The most that there are at the same time. */
  readonly max: number
}

/**
 * Runs handlers in transactions: a handler's writes and the record that the event was handled are committed together, or not at all.
 * `postgresInbox` and `sqliteInbox` make one.
 *
 * @typeParam Tx the type of `ctx.tx` in handlers
 */
export interface Inbox<Tx> {
  /**
   * Opens a transaction, calls `work` in it unless the event is handled or in flight, and commits when `work` resolves. If `work` rejects,
   * everything is rolled back and `once` rejects with the same error; after a `Discard` only the record is committed. If the commit fails,
   * or its result is unknown, it rejects: it never guesses. An inbox that loses its connection while `work` runs rejects at once: the
   * handler's `ctx.signal` then aborts.
   */
  once(request: OnceRequest, work: (tx: Tx) => Promise<void>): Promise<OnceResult>
  /**
   * The connections that its transactions take from: a receiver without the option `concurrency` leaves one of them to the rest of the app.
   * Inboxes on one pool have the same object. Absent if their number is not known, or a run needs none.
   */
  readonly connections?: InboxConnections | undefined
  /** A sentence for the log on what may block a handler that has not returned by the deadline; `undefined` if nothing is known. */
  hint?(): string | undefined
  /**
   * For `health()`: resolves if the database can be reached and has what the inbox needs, and rejects with the reason if not. It changes no
   * record, and its error names no credentials.
   */
  check?(): void | Promise<void>
}
