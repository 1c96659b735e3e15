/** A statement that ends a transaction, or begins one. */
export const ENDS_OR_BEGINS: RegExp =
  /^\s*(BEGIN|START\s+TRANSACTION|COMMIT|END|ABORT|PREPARE\s+TRANSACTION|ROLLBACK(?!\s+(TRANSACTION\s+|WORK\s+)?TO))\b/i

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

/**
 * Fails unless it runs in the transaction of that id, by casting words to a number: not every library looks at the answer to COMMIT.
 *
 * @param id the server's: digits, or a parameter
 */
export function checkFor(id: string): string {
  return `SELECT (CASE txid_current_if_assigned() WHEN ${id}::bigint THEN '1' ELSE '${ENDED}' END)::integer, ${DURABLE}`
}

/** The advice on a transaction that was rolled back though the handler had returned. */
export const ROLLED_BACK =
  'Postgres rolled back all that the handler had written: one of its SQL statements failed and it went on. Let such an error leave the handler, or put a SAVEPOINT around a statement that may fail.'

/**
 * Ends the session of a connection, so that a pool opens another. The transaction may have failed, and would refuse all but a ROLLBACK; in
 * one message, because a pooler may give the next one to another server. A standby refuses a transaction that is
 * SERIALIZABLE by default, and a role that is not the session's user may not end it. It sleeps so that the session ends in this statement,
 * and not a moment later in one of others.
 */
export const LEAVE =
  'ROLLBACK; BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL ROLE NONE; SELECT pg_terminate_backend(pg_backend_pid()); SELECT pg_sleep(1)'

/**
 * The same between two statements: postgres.js throws the last words of a server that ends a session in a statement at the next one on that
 * connection too, which is to another server.
 */
export const LEAVE_WHEN_IDLE = 'ROLLBACK; BEGIN; SET LOCAL idle_in_transaction_session_timeout = 1'
