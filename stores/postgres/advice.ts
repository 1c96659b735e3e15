import { StoreError, type WebhookError } from '../../src/index.js'
import { messageOf } from '../../src/internal.js'
import { isOfCertificate } from '../lib/certificate.js'
import type { Advice, ServerError, TableNames } from '../sql/advice.js'
import * as common from '../sql/advice.js'
import { ENDED, OUTSIDE, ROLLED_BACK } from './drivers/ending.js'

const UNREACHABLE =
  'Postgres could not be reached, or closed the connection: are it and the network up? A restart or a failover looks like this too.'
const CERTIFICATE =
  'The certificate of Postgres could not be verified: give the ssl option of the pool the certificate of its authority (ca), and connect to the host that it names.'
const REFUSED_USER = 'Postgres refused the user or the password of the connection.'
const REPLICA =
  'This database is read-only, such as a replica: connect the pool to the primary. After a failover, the next delivery reaches it over a new connection. If it is the primary, default_transaction_read_only is on.'

/** A code of the server, not of a connection that broke (class 08), of a socket, such as EPIPE, or of Prisma itself. */
const SQLSTATE = /^(?!08|E|P1|P2028)[0-9A-Z]{5}$/

/**
 * What a server says if it is not, or no longer, the one to write to, on a connection that stays open. One that shuts down, or that crashed
 * (57P01 to 57P03), ends its connections itself.
 */
const READ_ONLY = '25006'
const STANDBY = /hot standby/
const NOT_SUPPORTED = '0A000'

/** Advice by SQLSTATE, by the code of a socket's error, or by that of a client. */
const ADVICE = common.byCode({
  '42P01': common.MISSING,
  '3F000': ({ name }) =>
    `The schema of the table ${name} is missing, or none of the search_path exists: CREATE SCHEMA, or change the table option.`,
  '42703 42P10 42804 42883': common.OTHER_TABLE,
  '42501': ({ name, migrate }) =>
    `The user of this connection has no rights on ${name}: the app's needs SELECT, INSERT, UPDATE and DELETE, and the one that runs ${migrate} CREATE on the schema.`,
  '3D000': 'The database of the connection does not exist: check the connection string.',
  '28000 28P01': REFUSED_USER,
  '55P03': ({ name }) =>
    `A lock was not free within lock_timeout: does a migration, or a long transaction, hold ${name}? ${common.NOTHING_WRITTEN}`,
  '57014': `Postgres canceled the statement: it took longer than statement_timeout, or was canceled by hand. Is the server slow, or a lock held for long? ${common.NOTHING_WRITTEN}`,
  '40001': `Postgres could not serialize this transaction with others that ran at the same time, as can happen above READ COMMITTED. ${common.NOTHING_WRITTEN}`,
  '40P01': `Two transactions waited for each other, and Postgres ended this one: lock rows in the same order everywhere. ${common.NOTHING_WRITTEN}`,
  '53100': `The disk of Postgres is full: make room. ${common.NOTHING_WRITTEN}`,
  '53200': `Postgres is out of memory, or of room for locks. ${common.NOTHING_WRITTEN}`,
  '53300':
    'Postgres has no connection left for this user, database or server: make the pools of all processes together smaller than the limit (max_connections, CONNECTION LIMIT), or put a pooler in between.',
  '25P03':
    'The handler sent nothing to Postgres for longer than idleTimeoutSeconds, or than the server allows, so its transaction was ended: do what takes long before the first statement, or after the commit.',
  '25P04': `The transaction took longer than maxRunSeconds, or than transaction_timeout, and Postgres ended it. ${common.NOTHING_WRITTEN}`,
  [READ_ONLY]: REPLICA,
  '26000':
    'A prepared statement was made on another connection, as behind PgBouncer in transaction mode: set prepare: false for postgres.js, or max_prepared_statements in PgBouncer 1.21 or newer.',
  '57P01 57P02 57P03':
    'Postgres is shutting down or starting, or this connection was terminated: the next delivery tries again.',
  '08P01':
    'Postgres, or a pooler such as PgBouncer in front of it, refused what the connection sent: the cause of this error describes it.',
  P2028: common.PRISMA_TOO_SLOW,
  'ECONNREFUSED ENOTFOUND': 'There is no Postgres at the host and port of the connection: is it up?',
  CONNECT_TIMEOUT: common.SLOW_CONNECTION,
  // postgres.js hides why a connection ended.
  CONNECTION_CLOSED: `${UNREACHABLE} So does a PgBouncer in statement mode, which refuses transactions: set its pool_mode to transaction.`,
})

/** Advice by the message, for errors without a code of their own: all of PgBouncer have one. */
const BY_MESSAGE: readonly (readonly [RegExp, Advice])[] = [
  [
    /row-level security/i,
    ({ name }) =>
      `Row-level security on ${name} refused what the user of this connection writes: it needs a policy FOR ALL, with USING and WITH CHECK, or the right BYPASSRLS.`,
  ],
  [
    /pg_hba\.conf/i,
    'Postgres accepts no such connection: pg_hba.conf has no entry for this host, user and database, or has one only for TLS: set the ssl option of the pool.',
  ],
  [
    /not support SSL|before secure TLS connection/i,
    'Postgres, or the pooler in front of it, does not speak TLS on this port: check the host, the port and the ssl option of the pool.',
  ],
  [/authentication failed|no such user|password must be/i, REFUSED_USER],
  [STANDBY, REPLICA],
  [/calling end on the pool|CONNECTION_ENDED/i, common.CLOSED],
  [
    /transaction blocks not allowed in statement pooling/i,
    `PgBouncer refused the transaction, because it is in statement mode: set its pool_mode to transaction.`,
  ],
  [/timeout exceeded when trying to connect|due to connection timeout/i, common.SLOW_CONNECTION],
]

/** The error of the store for one of the database or the driver, with advice. */
export function unavailable(error: unknown, names: TableNames): WebhookError {
  return common.unavailableFor(error, adviceFor(error), names)
}

/** The same while the handler has the transaction: it may be too slow for the limits of that, and will be again. */
export function interrupted(error: unknown, names: TableNames): WebhookError {
  const advised = unavailable(error, names)
  if (advised === error || !['25P03', '25P04'].includes(String(codeOf(error)))) return advised
  return new StoreError('rolled_back', advised.message, { cause: error })
}

/** The same after the handler has returned: one of its own statements may have failed the transaction. */
export function notCommitted(error: unknown, names: TableNames): WebhookError {
  const code = codeOf(error)
  if (says(error, ENDED)) {
    return new StoreError('rolled_back', ENDED_BY_HANDLER, { cause: error })
  }
  // The code of a statement of the handler or of a deferred constraint. Any transaction can fail at COMMIT with the others:
  // classes 08, 28, 3D, 53, 55 and 57 are the server's, 40 is a conflict, 25P03 and 25P04 are limits on its time.
  const isHandlers = /^(?!08|28|3D|40|53|55|57|25P03|25P04|E|P1|P2028)[0-9A-Z]{5}$/.test(String(code))
  if (!isHandlers) return interrupted(error, names)
  return new StoreError('rolled_back', code === '25P02' ? ROLLED_BACK : FAILED_AT_END, { cause: error })
}

/** Whether a statement that belongs into the transaction of the inbox failed because it was in none. */
export function isOutside(error: unknown): boolean {
  return says(error, OUTSIDE)
}

/** Whether the table, or its schema, is missing. */
export function isMissing(error: unknown): boolean {
  return ['42P01', '3F000'].includes(String(codeOf(error)))
}

/** Whether it came from a server that takes no writes, if need be by way of other errors: its connection must not be used again. */
export function isWrongServer(error: unknown): boolean {
  return common.isCausedBy(error, (one) => codeOf(one) === READ_ONLY || isOfStandby(one))
}

/** A transaction that is SERIALIZABLE by default is not supported on a standby, which refuses it with the code of all that is not. */
export function isOfStandby(error: unknown): boolean {
  return codeOf(error) === NOT_SUPPORTED && STANDBY.test(String((error as { message?: unknown }).message))
}

/** Whether the transaction was above READ COMMITTED, and another one changed rows that it has read. */
export function isConflict(error: unknown): boolean {
  return codeOf(error) === '40001'
}

/** Whether the user of the connection lacks the rights for a statement. */
export function isForbidden(error: unknown): boolean {
  return codeOf(error) === '42501'
}

/**
 * Whether the server undid a statement because of one of its rows, such as one that a trigger or a CHECK of the user refuses, or a
 * conflict with another transaction. The other classes are of the connection, the table, the server or its limits, and would fail
 * each row alike.
 */
export function isOfOneRow(error: unknown): boolean {
  const code = String(codeOf(error))
  // 42501 may be of one row, too, by a policy of row-level security.
  return (
    code === '42501' || (SQLSTATE.test(code) && !/^(0[0-9A-Z]|2[568]|3D|3F|42|5[3-8]|72|F0|HV|XX)/.test(code))
  )
}

/** Whether a check in SQL failed, which casts these words to a number. */
function says(error: unknown, words: string): boolean {
  return codeOf(error) === '22P02' && String(innermost(error).message).includes(words)
}

function adviceFor(error: unknown): Advice {
  const code = String(codeOf(error))
  const text = `${messageOf(error)} ${String(innermost(error).message)}`
  const advice = BY_MESSAGE.find(([pattern]) => pattern.test(text))?.[1] ?? ADVICE.get(code)
  if (advice !== undefined) return advice
  if (isOfCertificate(code)) return CERTIFICATE
  const unknown = SQLSTATE.test(code)
    ? `Postgres failed with ${code}, which the cause of this error describes.`
    : UNREACHABLE
  return common.adviceOnOwnCode(error) ?? unknown
}

function codeOf(error: unknown): unknown {
  return innermost(error).code
}

export function innermost(error: unknown): ServerError {
  return common.innermostOf(error, ({ code }) => code === undefined)
}

const ENDED_BY_HANDLER =
  'The handler ended the transaction of the inbox itself, so what it wrote may be lost, or kept without its record: leave BEGIN, COMMIT and ROLLBACK to the inbox, and use a SAVEPOINT within it.'
/** The error is that of a statement, which postgres.js passes on at the end of the transaction too. */
const FAILED_AT_END =
  'Postgres rolled back all that the handler had written: one of its SQL statements failed and it went on, or the end of its transaction failed: a deferred constraint failed at COMMIT, or a statement failed that the library sends only then, such as the flush of MikroORM. The cause of this error describes it. Let such an error leave the handler, or put a SAVEPOINT around a statement that may fail.'
