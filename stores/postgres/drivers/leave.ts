/**
 * Ends the session of a connection to the wrong server: a pool then opens another. The transaction may have failed, and would refuse all
 * but a ROLLBACK; in one message, because a pooler may give the next one to another server. A standby refuses a transaction that is
 * SERIALIZABLE by default, and a role that is not the session's user may not end it. It sleeps so that the session ends in this statement,
 * and not a moment later in one of others.
 */
export const LEAVE =
  'ROLLBACK; BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL ROLE NONE; SELECT pg_terminate_backend(pg_backend_pid()); SELECT pg_sleep(1)'

/** Ends a session in whose transaction no statement has failed. */
export const DISCONNECT = "SELECT set_config('role', 'none', true), pg_terminate_backend(pg_backend_pid())"

/**
 * The same between two statements: postgres.js throws the last words of a server that ends a session in a statement at the next one on that
 * connection too, which is to another server.
 */
export const LEAVE_WHEN_IDLE = 'ROLLBACK; BEGIN; SET LOCAL idle_in_transaction_session_timeout = 1'
