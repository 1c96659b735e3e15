/** The values of a row, in the order in which they were selected. */
export type Row = readonly unknown[]

/** The answer to a statement. */
export interface Answer {
  readonly rows: readonly Row[]
  /** The report on a write; absent if the library does not pass it on. */
  readonly written?: {
    /** The rows that it has changed, or that it has found: clients differ. */
    readonly count: number
    /** The last value of `LAST_INSERT_ID(expression)` in it; 0 if there was none. */
    readonly id: number
    /** The flags of the session after it; absent if the client does not pass them on. */
    readonly status?: number | undefined
  }
}

/** Sends one statement, which has no parameters. */
export type Ask = (sql: string) => Promise<Answer>

/**
 * Carries any library that has transactions, such as Drizzle or Kysely: `mysqlInbox(driver)` then gives handlers that library's own
 * transaction. docs/libraries.md has the lines of each.
 *
 * @typeParam Tx the library's own transaction
 */
export interface MysqlDriver<Tx> {
  /** Calls `work` in a new transaction: commits when it resolves, rolls back when it rejects, and rejects when either fails. */
  transaction<R>(work: (tx: Tx) => Promise<R>): Promise<R>
  /** Sends one statement in that transaction, as the text that it is, and returns its rows: objects or arrays of values. */
  query(tx: Tx, sql: string): Promise<unknown>
}

/** The end of a transaction. */
export interface Ending {
  /** Whether it is committed; if not, it is rolled back. */
  readonly commits: boolean
  /** Whether it must still be the transaction that `MARK` was sent in. */
  readonly isMarked?: boolean
  /** For a library that commits by itself: a statement that returns a row if it did. */
  readonly proof?: string | undefined
}

export function alwaysCommits(): Ending {
  return { commits: true }
}

export interface TransactionOptions {
  /** How long the server waits for the next statement, in milliseconds, before it ends the connection. Default: as it is set. */
  readonly idleMs?: number
  /** Whether `MARK` has been sent. Default: it is not. */
  readonly isMarked?: () => boolean
  /** Whether it is at READ COMMITTED, whatever the session is set to. Default: at the level of the session. */
  readonly readsCommitted?: boolean
  /** Called if `work` has rejected after it, and the transaction no longer is that of `MARK`, or could not be asked. */
  readonly onMarkLost?: (isKnown: boolean) => void
}

/**
 * A driver that checks its commits: the inbox uses each library through one.
 *
 * @typeParam Tx a transaction as the driver itself uses it
 * @typeParam Handed the same as handlers get it
 */
export interface CheckedDriver<Tx, Handed = Tx> {
  /**
   * Calls `work` in a transaction, and ends it as `endingOf` says: by default it commits. It rejects as soon as it notices that the
   * connection is lost.
   */
  transaction<R>(
    work: (tx: Tx, handed: Handed) => Promise<R>,
    endingOf?: (result: R) => Ending,
    options?: TransactionOptions,
  ): Promise<R>
  query(tx: Tx, sql: string): Promise<Answer>
  /**
   * Calls `work` with reads alone, outside of the transactions of handlers: they find what is committed, and wait for nobody, at whatever
   * level the session is. READ UNCOMMITTED would find the record of a handler that is running, and SERIALIZABLE wait for its end.
   */
  reading<R>(work: (ask: Ask) => Promise<R>): Promise<R>
  /** The same as `query` in a transaction as handlers get it. It throws a TypeError if it is none, or is over. */
  queryHanded(handed: Handed, sql: string): Promise<Answer>
  /** Sends a statement without a transaction; absent if the library has none. */
  readonly ask?: Ask | undefined
  /** See `Inbox.hint`. */
  hint?(): string | undefined
}

/** Whatever completion_type is set to. */
export const ROLLBACK = 'ROLLBACK AND NO CHAIN NO RELEASE'

/**
 * For the next transaction of the session, which must not be in one. It is to be ended by ROLLBACK or COMMIT: another statement that ends
 * it leaves the level to the one after it.
 */
export const READ_COMMITTED = 'SET TRANSACTION ISOLATION LEVEL READ COMMITTED'

/** A savepoint: a transaction that was committed or rolled back has lost it, and so has the one that follows it on the connection. */
export const MARK = 'SAVEPOINT tix_webhooks'
/** Fails with `NO_SAVEPOINT` in another transaction than that of the mark. */
export const CHECK_MARK = 'RELEASE SAVEPOINT tix_webhooks'

/** Assignments for `SET`: they keep the session's autocommit until the transaction ends. An app with autocommit off relies on its own ROLLBACK. */
export const NO_AUTOCOMMIT_KEPT = '@tix_webhooks_autocommit = @@autocommit, autocommit = 0'
export const RESTORE_AUTOCOMMIT = 'autocommit = @tix_webhooks_autocommit'

/** Of `SET`: the limit of the session, kept for the end of the transaction. */
export function limitIdle(idleMs: number): string {
  return `@tix_webhooks_wait = @@wait_timeout, wait_timeout = CAST(LEAST(@@wait_timeout, ${Math.ceil(idleMs / 1000)}) AS UNSIGNED)`
}
export const RESTORE_IDLE = 'wait_timeout = @tix_webhooks_wait'
