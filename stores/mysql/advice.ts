import type { WebhookError } from '../../src/index.js'
import { messageOf } from '../../src/internal.js'
import { isOfCertificate } from '../lib/certificate.js'
import type { Advice, ServerError, TableNames } from '../sql/advice.js'
import * as common from '../sql/advice.js'

/** The numbers of the server's errors that are more than advice. */
const DEADLOCK = 1213
/** With `innodb_snapshot_isolation`, the default of newer versions of MariaDB: another transaction has changed a record since this one first read. */
const CHANGED = 1020
const LOCK_WAIT = 1205
const DUPLICATE = 1062
const NO_TABLE = 1146
const NO_DATABASE = 1049
const NO_SAVEPOINT = 1305
/** Of mariadb. */
const NO_CONNECTION = 45_028
const FORBIDDEN: readonly number[] = [1044, 1142, 1143, 1227]

const UNREACHABLE =
  'The database could not be reached, or closed the connection: are it and the network up? A restart, a failover, KILL, a statement larger than max_allowed_packet, or a handler that sends nothing for longer than idleTimeoutSeconds or wait_timeout look like this, and so does an option of the pool that does not go with the server: the cause of this error says more.'
const CERTIFICATE =
  'The certificate of the server could not be verified: give the pool that of its authority, ssl: { ca }, and connect to the host that it names.'
/** For a user without rights on a table. */
export const noRights = ({ name, migrate }: TableNames): string =>
  `The user of this connection has no rights on ${name}: the app's needs SELECT, INSERT, UPDATE and DELETE, and the one that runs ${migrate} CREATE, SELECT and INSERT.`

/**
 * What a server says if it is not, or no longer, the one to write to, on a connection that stays open: read_only and super_read_only,
 * transaction_read_only, innodb_read_only. One that shuts down ends its connections itself.
 */
const READ_ONLY: readonly number[] = [1290, 1792, 1836, 1874]
/** The same of a node of Galera, and of Group Replication. */
const NOT_READY: readonly number[] = [1047, 3100]

/** Advice by the number of the server's error, or by the code of a client's or a socket's. */
const ADVICE = common.byCode({
  [NO_TABLE]: common.MISSING,
  [NO_DATABASE]: 'The database of the connection, or of the table option, does not exist.',
  '1046':
    'The connection has no database: name one in the connection of the pool, or in the table option, such as app.webhooks.',
  '1054 1364': common.OTHER_TABLE,
  [FORBIDDEN.join(' ')]: noRights,
  '1045': 'The server refused the user or the password of the connection.',
  [LOCK_WAIT]: ({ name }) =>
    `A lock was not free within innodb_lock_wait_timeout: does a migration, or a long transaction, hold ${name}? ${common.NOTHING_WRITTEN}`,
  [DEADLOCK]: `Transactions waited for each other again and again, and the server ended this one: lock rows in the same order everywhere. ${common.NOTHING_WRITTEN}`,
  [CHANGED]: `Another transaction changed a record that this one was about to, as innodb_snapshot_isolation refuses: use READ COMMITTED, if it happens often. ${common.NOTHING_WRITTEN}`,
  '1021 1114': `A disk or a table of the server is full: make room. ${common.NOTHING_WRITTEN}`,
  '1040 1203 1226':
    'The server has no connection left for this user or at all: make the pools of all processes together smaller than the limit (max_connections, MAX_USER_CONNECTIONS).',
  [READ_ONLY.join(' ')]:
    'This server is read-only, such as a replica, or the session is, by transaction_read_only: connect the pool to the primary. After a failover, the next delivery reaches it over a new connection.',
  [NOT_READY.join(' ')]:
    'This node of a cluster takes no writes, as while it joins or has lost the others: the next delivery reaches another over a new connection, if the address of the pool is that of the cluster.',
  '1053 1927': 'The server is shutting down, or this connection was killed: the next delivery tries again.',
  '1317 1969 3024': `The server canceled the statement: it took longer than max_execution_time or max_statement_time, or was killed by hand. ${common.NOTHING_WRITTEN}`,
  '1064':
    'The server does not know this SQL: it must be MySQL 8.0, MariaDB 10.6, or newer, and its sql_mode not ORACLE.',
  '1104':
    'sql_big_selects is off for this connection, and max_join_size so small that the server refuses our statements: set sql_big_selects to 1 for the user of the app.',
  '1153':
    'The statement is larger than max_allowed_packet of the server: it must be more than twice as large as maxBodyBytes.',
  '1175':
    'sql_safe_updates is on for this connection, and refuses statements for several records: set it to 0 for the user of the app.',
  '1665':
    'The server cannot write with binlog_format = STATEMENT at this isolation level: set binlog_format to ROW or MIXED.',
  'ECONNREFUSED ENOTFOUND': 'There is no server at the host and port of the connection: is it up?',
  [`ETIMEDOUT ${NO_CONNECTION} ER_GET_CONNECTION_TIMEOUT`]: common.SLOW_CONNECTION,
  '45027': common.CLOSED,
  '45038':
    'The server is a MySQL, which has no time-out for a statement as mariadb sets it: remove queryTimeout from the options of the pool, or use mysql2.',
  '45044':
    "The account has a password of caching_sha2_password, the default of MySQL 8, and the connection no TLS: give mariadb's pool allowPublicKeyRetrieval: true, or cachingRsaPublicKey, or better ssl.",
  P2028: common.PRISMA_TOO_SLOW,
})

/** Advice by the message, for errors without a number of their own. */
const BY_MESSAGE: readonly (readonly [RegExp, string])[] = [
  [/pool is closed|pool is (already )?clos(ed|ing)/i, common.CLOSED],
  [/no connection within|pool timeout|no connections available|queue limit reached/i, common.SLOW_CONNECTION],
]

/** The error of the store for one of the database or the driver, with advice. */
export function unavailable(error: unknown, names: TableNames): WebhookError {
  return common.unavailableFor(error, adviceFor(error), names)
}

/** Whether it came from a server that takes no writes, if need be by way of other errors: its connection must not be used again. */
export function isWrongServer(error: unknown): boolean {
  return common.isCausedBy(error, (one) => [...READ_ONLY, ...NOT_READY].includes(numberOf(one)))
}

/** Whether the server has refused a conflict with another transaction: this one can be run again at once. */
export function isConflict(error: unknown): boolean {
  return [DEADLOCK, CHANGED].includes(numberOf(error))
}

/** Whether a row of the same key is there. */
export function isDuplicate(error: unknown): boolean {
  return numberOf(error) === DUPLICATE
}

/** Whether a lock was not free in time. */
export function isLockWait(error: unknown): boolean {
  return numberOf(error) === LOCK_WAIT
}

/** Whether the transaction is no longer the one in which the savepoint was made. */
export function hasEnded(error: unknown): boolean {
  return numberOf(error) === NO_SAVEPOINT
}

/** Whether the table, or its database, is missing. */
export function isMissing(error: unknown): boolean {
  return [NO_TABLE, NO_DATABASE].includes(numberOf(error))
}

/** Whether the user of the connection lacks the rights for a statement. */
export function isForbidden(error: unknown): boolean {
  return FORBIDDEN.includes(numberOf(error))
}

/**
 * Whether the server undid a statement because of one of its rows, such as one that a trigger or a CHECK of the user refuses. Others are
 * of the connection, the table, the server or its limits, and would fail each row alike.
 */
export function isOfOneRow(error: unknown): boolean {
  const { sqlState } = innermost(error)
  return OF_ONE_ROW.includes(numberOf(error)) || /^(22|23|44|45)/.test(String(sqlState))
}

/** A CHECK that refuses a row, in MySQL and in MariaDB, and a lock on it. */
const OF_ONE_ROW: readonly number[] = [3819, 4025, LOCK_WAIT, DEADLOCK]

function adviceFor(error: unknown): Advice {
  const { code, message: says } = innermost(error)
  const number = numberOf(error)
  // mysql2 has one code for all errors of TLS.
  if (isOfCertificate(code) || (code === 'HANDSHAKE_SSL_ERROR' && /certificate/i.test(String(says))))
    return CERTIFICATE
  const message = messageOf(error)
  const advice =
    ADVICE.get(String(number)) ??
    ADVICE.get(String(code)) ??
    BY_MESSAGE.find(([pattern]) => pattern.test(message))?.[1] ??
    common.adviceOnOwnCode(error)
  if (advice !== undefined) return advice
  if (number > 0 && number < FIRST_OF_CLIENTS) {
    return `The database failed with error ${number}, which the cause of this error describes.`
  }
  return UNREACHABLE
}

/** mariadb numbers its own errors from here on. */
const FIRST_OF_CLIENTS = 45_000
/** The number of the server's error; 0 if it is none. */
function numberOf(error: unknown): number {
  const { errno, code } = innermost(error)
  // Prisma has the number as its code.
  return [errno, code].map(Number).find((number) => Number.isInteger(number) && number > 0) ?? 0
}

function innermost(error: unknown): ServerError {
  // That of a pool of mariadb says only that there was no connection, and its cause why.
  return common.innermostOf(error, ({ errno }) => errno === undefined || errno === NO_CONNECTION)
}

/** For settings of a connection that change what our statements do. */
export const SELECT_LIMIT =
  'sql_select_limit of the connections of this pool is below 1000, so that statements return too few rows: set it to DEFAULT for the user of the app.'
export const OTHER_ASSIGNMENT =
  'sql_mode of the connections of this pool has SIMULTANEOUS_ASSIGNMENT, as ORACLE has, with which an UPDATE means something else: remove it for the user of the app.'
/** For connections that do not commit by themselves. */
export const NO_AUTOCOMMIT =
  'The connections of this pool have autocommit off, so that nothing of the store would be committed: set autocommit = 1 for its user, and use START TRANSACTION in your own code.'
