export type Row = Readonly<Record<string, unknown>>

/**
 * Carries any library that has transactions, such as Drizzle or Kysely: `postgresInbox(driver)` then gives handlers that
 * library's own transaction. docs/idempotency.md has both.
 *
 * @typeParam Tx the library's own transaction
 */
export interface PostgresDriver<Tx> {
  /** Calls `work` in a new transaction: commits when it resolves, rolls back when it rejects, and rejects when either fails. */
  transaction<R>(work: (tx: Tx) => Promise<R>): Promise<R>
  /** Runs one statement with `$1` parameters in that transaction, and gives its rows. */
  query(tx: Tx, sql: string, parameters: readonly unknown[]): Promise<readonly Row[]>
}

/**
 * A driver as the inbox uses it.
 *
 * @typeParam Tx a transaction as the driver itself uses it
 * @typeParam Handed the same as handlers get it
 */
export interface CheckingDriver<Tx, Handed = Tx> {
  /**
   * Calls `work` in a transaction, and `idOf` when it is done: where that gives an id, it commits only if it still is in the
   * transaction of that id, and in none that has failed. With `idOf`, it refuses a connection that is in a transaction already. It rejects at once when the connection is lost and that is noticed.
   */
  transaction<R>(work: (tx: Tx, handed: Handed) => Promise<R>, idOf?: IdOf<R>): Promise<R>
  query: PostgresDriver<Tx>['query']
  /** The same for the first statement of a transaction, before which it can be rolled back and begun again. */
  first: PostgresDriver<Tx>['query']
  /** See `Inbox.hint`. */
  hint?(): string | undefined
}

export type IdOf<R> = (result: R) => string | undefined

export function noId(): undefined {}

/** What the server says where a handler ended the transaction, or began another one. */
export const ENDED = 'tix-webhooks: the handler ended the transaction'

/** Fails unless it runs in the transaction of that id, by casting words to a number. Not every library looks at what COMMIT says. */
export const CHECK: string = `SELECT (CASE txid_current_if_assigned() WHEN $1::bigint THEN '1' ELSE '${ENDED}' END)::integer`

/** @param id digits */
export function checkFor(id: string): string {
  return CHECK.replace('$1', id)
}

/** What a handler's transaction ended with though its work was done. */
export const ROLLED_BACK =
  'Postgres rolled back all that the handler had written: one of its SQL statements failed and it went on, or a deferred constraint failed at COMMIT. Let such an error leave the handler, or put a SAVEPOINT around a statement that may fail.'
