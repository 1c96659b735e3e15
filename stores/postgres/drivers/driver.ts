import type { Commit } from './commit-check.js'

export type Row = Readonly<Record<string, unknown>>

/**
 * Carries any library that has transactions, such as Drizzle or Kysely: `postgresInbox(driver)` then gives handlers that
 * library's own transaction. docs/libraries.md has the lines of each.
 *
 * @typeParam Tx the library's own transaction
 */
export interface PostgresDriver<Tx> {
  /** Calls `work` in a new transaction: commits when it resolves, rolls back when it rejects, and rejects when either fails. */
  transaction<R>(work: (tx: Tx) => Promise<R>): Promise<R>
  /** Runs one statement with `$1` parameters in that transaction, and returns its rows. */
  query(tx: Tx, sql: string, parameters: readonly unknown[]): Promise<readonly Row[]>
}

/**
 * A driver that checks its commits: the inbox uses each library through one.
 *
 * @typeParam Tx a transaction as the driver itself uses it
 * @typeParam Handed the same as handlers get it
 */
export interface CheckedDriver<Tx, Handed = Tx> {
  /**
   * Calls `work` in a transaction, then `commitOf`: if that returns an id, it commits only if the connection still is in the
   * transaction of that id, and that has not failed; if null, it may roll back. It rejects as soon as it notices that the
   * connection is lost. The transaction may begin no sooner than with the first statement that `work` sends through this driver.
   */
  transaction<R>(work: (tx: Tx, handed: Handed) => Promise<R>, commitOf?: CommitOf<R>): Promise<R>
  /** @param limitMs the longest that it waits for the answer, if the library can end a wait: then the connection is closed */
  query(tx: Tx, sql: string, parameters: readonly unknown[], limitMs?: number): Promise<readonly Row[]>
  /** The same in a transaction as handlers get it: it refuses one that is over. */
  queryHanded: PostgresDriver<Handed>['query']
  /** Runs a first statement of a transaction: before it, the transaction can be rolled back and begun again. */
  first: PostgresDriver<Tx>['query']
  /** See `Inbox.hint`. */
  hint?(): string | undefined
}

/** Returns what is to be checked and done at the end; null if nothing was written: a rollback does not wait for the disk. */
export type CommitOf<R> = (result: R) => Commit | null | undefined

export function unchecked(): undefined {}

/** The rows of a statement, and how many it found or changed, which needs no rows. */
export interface StatementResult {
  readonly rows: readonly Row[]
  readonly count: number | null
}

/** Runs one statement on any connection, without a transaction. */
export type Query = (sql: string, parameters: readonly unknown[]) => Promise<StatementResult>
