import type { Change, HandledRecords, LedgerInbox, Purgeable, RemoteLedgerStore } from '../../src/index.js'
import {
  checkOptionNames,
  checkRetentionSeconds,
  DEFAULT_IDLE_SECONDS,
  describeValue,
  MAX_IDLE_SECONDS,
} from '../../src/internal.js'

/** The table of a database, for its stores and its inboxes. */
export const DEFAULT_TABLE = 'tix_webhooks_events'

export interface SqlStoreOptions {
  /** Its table, which an inbox may share: a name, or a schema (in MySQL a database) and a name. Default `tix_webhooks_events`. */
  table?: string | undefined
  /**
   * How often expired events are deleted, in seconds: by a delivery, in the background, at most 1,000 at a time. Default 300; `false` leaves it
   * to your calls of `purge`.
   */
  purgeEverySeconds?: number | false | undefined
}

export interface SqlInboxOptions extends SqlStoreOptions {
  /**
   * How long a transaction may be idle between two statements of a handler before the server ends it, in seconds, so that a
   * machine that vanished does not hold an event for hours. Default 60; a lower limit of the server's own wins.
   */
  idleTimeoutSeconds?: number | undefined
  /**
   * How long `recordIfNewest` remembers a change, in seconds; longer if a receiver of this inbox keeps its records for longer, and 7 days more
   * for a replay of an older event. It must be the same in each process that calls `recordIfNewest`. Default 2,592,000 (30 days); at
   * least 262,800 (73 h).
   */
  retentionSeconds?: number | undefined
}

/** Options for a pool whose handlers get another object than its connection. */
export interface SqlInboxAsOptions<Connection, Tx> extends SqlInboxOptions {
  /**
   * Makes `ctx.tx` of the connection that is in the transaction, for a library that wraps one: `(client) => drizzle(client)`.
   * Called for each delivery. The library cannot begin transactions on that connection: it is in one.
   */
  as(connection: Connection): Tx
}

/** What a store and an inbox have for the table that they may share. */
interface SqlTable extends HandledRecords, Purgeable {
  /**
   * Resolves if a delivery could be recorded: it begins as one does, and rolls that back.
   *
   * @throws StoreError otherwise, with advice and without credentials
   */
  check(): Promise<void>
  /** Creates the tables if they are missing. For your deploy; several may run at once. */
  migrate(): Promise<void>
  /** The SQL that `migrate` runs, for tools of your own. */
  readonly ddl: string
}

/** An idempotency store in a table, which also keeps the failures of events. */
export interface SqlStore extends RemoteLedgerStore, SqlTable {
  check(): Promise<void>
}

/** A transactional inbox, which also keeps the failures of events. */
export interface SqlInbox<Tx> extends LedgerInbox<Tx>, SqlTable {
  /**
   * Keeps a late event from undoing a newer one: true if no newer change of the subject has been applied. The change is then recorded, and
   * committed together with the handler's writes. Of two that are equal in date and rank, the later to arrive is newest. It waits for
   * another transaction that has recorded a change of the same subject and is not over. For state, not for sums: docs/ordering.md.
   *
   * With a list, the results are in its order, and transactions with the same subjects cannot deadlock: those of several calls can.
   *
   * @param tx `ctx.tx`
   * @returns false if a newer change was applied before: nothing is recorded
   * @throws TypeError when the date is no date, the subject is empty, the rank is no whole number, or `tx` is not in the transaction
   * @throws StoreError when the database fails, or the table is missing: let it leave the handler
   * @example
   * ```ts
   * tixWebhooks({
   *   secret,
   *   inbox,
   *   namespace: 'listing',
   *   on: {
   *     'event.*': async (event, ctx) => {
   *       const { id } = event.data.event as { id: string }
   *       const rank = event.type === 'event.cancelled' ? 1 : 0
   *       if (!(await inbox.recordIfNewest(ctx.tx, { subject: id, at: event.created_at, rank }))) return
   *       await ctx.tx.query('UPDATE listing SET state = $2 WHERE event_id = $1', [id, event.type])
   *     },
   *   },
   * })
   * ```
   */
  recordIfNewest(tx: Tx, change: Change): Promise<boolean>
  recordIfNewest(tx: Tx, changes: readonly Change[]): Promise<boolean[]>
  /**
   * Deletes events, and then the changes of `recordIfNewest`, past their retention, oldest first. Without rights on the table of the
   * changes it deletes events alone, and warns once.
   *
   * @param options.limit the most events and changes to delete, so that one call stays short. Default 1,000
   * @returns the number of deleted events and changes
   */
  purge(options?: { readonly limit?: number }): Promise<number>
  check(): Promise<void>
}

export interface CheckedInboxOptions {
  readonly table: string
  readonly purgeEverySeconds: number | false | undefined
  readonly idleMs: number
  readonly retentionMs: number
  readonly as: ((connection: never) => unknown) | undefined
}

/** @throws TypeError that names the option */
export function checkInboxOptions(options: SqlInboxOptions & { readonly as?: unknown }): CheckedInboxOptions {
  const {
    table = DEFAULT_TABLE,
    purgeEverySeconds,
    idleTimeoutSeconds = DEFAULT_IDLE_SECONDS,
    retentionSeconds,
    as,
  } = checkOptionNames(options, [
    'table',
    'purgeEverySeconds',
    'idleTimeoutSeconds',
    'retentionSeconds',
    'as',
  ])
  if (as !== undefined && typeof as !== 'function') {
    throw new TypeError(
      `as must be a function, such as (client) => drizzle(client), not ${describeValue(as)}.`,
    )
  }
  return {
    table,
    purgeEverySeconds,
    idleMs: checkIdleSeconds(idleTimeoutSeconds) * 1000,
    retentionMs: checkRetentionSeconds(retentionSeconds) * 1000,
    as: as as CheckedInboxOptions['as'],
  }
}

function checkIdleSeconds(value: number): number {
  if (typeof value !== 'number' || !(value >= 1) || value > MAX_IDLE_SECONDS) {
    throw new TypeError(
      `idleTimeoutSeconds must be a number of seconds from 1 to ${MAX_IDLE_SECONDS}, not ${describeValue(value)}.`,
    )
  }
  return Math.ceil(value)
}
