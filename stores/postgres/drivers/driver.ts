import { StoreError } from '../../../src/index.js'
import { within } from '../../../src/internal.js'

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
  /**
   * Whether the library refuses all statements in a transaction that is over, also those in transactions within it. Default: it does not,
   * and the inbox closes the connection of a handler that has failed, so that nothing that goes on can write in the next transaction: the
   * library must listen for the errors of its connections, or that ends the process.
   */
  readonly refusesLate?: boolean
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
  query: PostgresDriver<Tx>['query']
  /** The same in a transaction as handlers get it: it refuses one that is over. */
  queryHanded: PostgresDriver<Handed>['query']
  /** Runs a first statement of a transaction: before it, the transaction can be rolled back and begun again. */
  first: PostgresDriver<Tx>['query']
  /** See `Inbox.hint`. */
  hint?(): string | undefined
}

/** Returns the id that is to be checked; null if nothing was written: a rollback does not wait for the disk. */
export type CommitOf<R> = (result: R) => string | null | undefined

export function unchecked(): undefined {}

/** Runs one statement. */
export type Ask = (sql: string, parameters: readonly unknown[]) => Promise<readonly Row[]>

/** @throws StoreError when there is no answer after `ms` */
export function answered<T>(ms: number, answer: Promise<T>): Promise<T> {
  return within(answer, ms, () => {
    throw new StoreError('store_unavailable', `Postgres did not answer within ${ms / 1000} s.`)
  })
}
