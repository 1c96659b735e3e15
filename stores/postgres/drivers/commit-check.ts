import { literal } from './literal.js'

/** The server's words if a handler ended the transaction, or began another one. */
export const ENDED = 'tix-webhooks: the handler ended the transaction'

/** The server's words if a statement that belongs into the transaction of the inbox runs outside of it. */
export const OUTSIDE = 'tix-webhooks: not in the transaction of the inbox'

/**
 * Has COMMIT wait for the disk, whatever the server, the database, the role or the handler has set: with a setting weaker than `on`, a
 * server that crashes loses transactions that it has confirmed. Set last, because the setting counts at COMMIT; and only if it is weaker,
 * because to set it costs more than the rest of the check.
 */
export const DURABLE =
  "CASE WHEN current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') THEN set_config('synchronous_commit', 'on', true) END"

/** The conditions of a COMMIT, and the failure that it removes. */
export interface Commit {
  /** The id that the server gave it: digits. */
  readonly id: string
  /** The event's failure, if it may have one: it is removed. */
  readonly failure?: { readonly table: string; readonly key: string } | undefined
}

/** A statement with its parameters. */
export function checkOf({ id, failure }: Commit): [sql: string, parameters: readonly string[]] {
  return failure === undefined ? [check('$1'), [id]] : [check('$1', failure.table, '$2'), [id, failure.key]]
}

/** The same statement as text alone. */
export function checkFor({ id, failure }: Commit): string {
  return failure === undefined ? check(id) : check(id, failure.table, literal(failure.key))
}

/**
 * Fails unless it runs in the transaction of that id, by casting words to a number. Not every library looks at the answer to COMMIT. The
 * failure is removed in the same statement, so that one that fails removes nothing; and in the last, whose snapshot is later than the lock
 * of the event: a failure that another delivery was keeping when this one began is removed too.
 */
function check(id: string, failures?: string, key?: string): string {
  const removal =
    failures === undefined ? '' : `WITH removed AS (DELETE FROM ${failures} WHERE key = ${key}::text) `
  return `${removal}SELECT (CASE txid_current_if_assigned() WHEN ${id}::bigint THEN '1' ELSE '${ENDED}' END)::integer, ${DURABLE}`
}

/** The advice on a transaction that was rolled back though the handler had returned. */
export const ROLLED_BACK =
  'Postgres rolled back all that the handler had written: one of its SQL statements failed and it went on. Let such an error leave the handler, or put a SAVEPOINT around a statement that may fail.'

/** The same if the error is that of a statement, which postgres.js passes on at the end of the transaction too. */
export const FAILED_AT_END =
  'Postgres rolled back all that the handler had written: one of its SQL statements failed and it went on, or the end of its transaction failed: a deferred constraint failed at COMMIT, or a statement failed that the library sends only then, such as the flush of MikroORM. The cause of this error describes it. Let such an error leave the handler, or put a SAVEPOINT around a statement that may fail.'
