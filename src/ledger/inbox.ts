import type { EventFacts, KeepsFailures, ReplayTerms } from './store.js'

/** A delivery's request to an inbox. */
export interface OnceRequest {
  /** At most 255 characters of printable ASCII; `null` for a plain transaction, without deduplication. */
  readonly key: string | null
  /** How long the record is kept, in milliseconds. */
  readonly retainMs: number
  /**
   * How long the handler may run, in milliseconds from the call. The receiver enforces it: after that `work` rejects, though the handler
   * goes on. An inbox may have its database end the transaction a little later, in case a stuck statement blocks the rollback.
   */
  readonly maxRunMs?: number
  /** What is written to a ledger when it first sees the event. An inbox alone ignores it. */
  readonly about?: EventFacts
  /** Only for a ledger: present for a replay, which runs a parked event too. */
  readonly replay?: ReplayTerms
}

/** How a delivery's transaction ended. */
export interface OnceResult {
  readonly status: /** The handler's writes and the record of the event are committed. */
    | 'handled'
    /** The handler threw `Discard`: its writes are rolled back, and the record of the event is committed. */
    | 'discarded'
    /** The event was already handled, or has been meanwhile: nothing of this delivery is kept. */
    | 'duplicate'
    /** Another delivery of the event is in its transaction right now, or has a lease on it. */
    | 'in_flight'
    /** Only of a ledger: the event waits for a replay, and `work` was not called. */
    | 'parked'
}

/** A pool of connections. */
export interface InboxConnections {
  /** The most that there are at the same time. */
  readonly max: number
}

/** What an inbox knows of the run of a handler. */
export interface OnceRun {
  /** One more than the failures that are kept of the event. */
  readonly attempt: number
}

/**
 * Runs handlers in transactions: a handler's writes and the record that the event was handled are committed together, or not at all.
 * `postgresInbox`, `mysqlInbox` and `sqliteInbox` make one; `inboxCases` of `tix-webhooks/testing` test one of your own.
 *
 * The inbox enforces all that `once` says, and the end of the transaction for its handler: what that sends later through `tx`, or in a
 * nested transaction that it left open, is never written, and reaches no other delivery on the connection, which is given back.
 *
 * The receiver enforces the time: `work` rejects at `maxRunMs`, and before the handler is called if the transaction opens after the
 * deadline of the answer. It sends valid keys alone, calls the handler once however often `work` is called, and answers 503 if the status
 * is not the one of that handler's end.
 *
 * @typeParam Tx the type of `ctx.tx` in handlers
 */
export interface Inbox<Tx> {
  /**
   * Opens a transaction, calls `work` in it unless the event is handled or in flight, and commits when `work` resolves. If `work` rejects,
   * everything is rolled back and `once` rejects with the same error; after a `Discard` only the record is committed. Keys differ if any
   * character does; without one each delivery runs. A delivery does not wait for another of the same event: it is `in_flight`, or both run
   * and one is committed. If a statement has failed and `work` resolves, it must not be `handled` with writes missing. If the commit fails,
   * or its result is unknown, it rejects: it never guesses. An inbox that loses its connection while `work` runs rejects at once: the
   * handler's `ctx.signal` then aborts.
   */
  once(request: OnceRequest, work: (tx: Tx, run?: OnceRun) => Promise<void>): Promise<OnceResult>
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

/**
 * An inbox that also keeps the failures of events, in the record of the event itself: each of ours. The failure of a run that was rolled back is
 * kept afterwards, by `keep`; what `once` commits removes it.
 *
 * @typeParam Tx the type of `ctx.tx` in handlers
 */
export interface LedgerInbox<Tx> extends Inbox<Tx>, KeepsFailures {}

/**
 * The type of `ctx.tx` in the handlers of an inbox: for handlers that are not inline.
 *
 * @example
 * ```ts
 * import type { HandlerContext, OrderCreatedEvent, TxOf } from 'tix-webhooks'
 *
 * export async function book({ data }: OrderCreatedEvent, ctx: HandlerContext<unknown, TxOf<typeof inbox>>) {
 *   await ctx.tx.query('INSERT INTO orders (id) VALUES ($1)', [data.order.id])
 * }
 * ```
 */
export type TxOf<Of extends Inbox<unknown>> = Of extends Inbox<infer Tx> ? Tx : never

/** A change of one subject, which `recordIfNewest` of an inbox compares with the newest one that was applied. */
export interface Change {
  /**
   * The thing that changed, as a string of 1 to 255 characters: `event.data.event.id`. All receivers on one table share its subjects, so
   * put the id of the account into it if there are several.
   */
  readonly subject: string
  /**
   * When it changed, by the sender's clock: `event.created_at`. A `Date`, or an ISO 8601 string, which is compared to the nanosecond; without a
   * time zone it is UTC.
   */
  readonly at: Date | string
  /** Decides between changes of the same date: the higher rank is newer. A whole number. Default 0. */
  readonly rank?: number | undefined
}
