import { isWebhookError, StoreError, type WebhookError } from '../../src/index.js'
import { messageOf } from '../../src/internal.js'
import { isOfCertificate } from '../lib/certificate.js'

/** The names that advice on a table of ours needs. */
export interface TableNames {
  /** The quoted name, as SQL has it. */
  readonly name: string
  /** The user's call that creates it. */
  readonly migrate: string
}

/** The numbers of the server's errors that are more than advice. */
const DEADLOCK = 1213
/** With `innodb_snapshot_isolation`, the default of newer versions of MariaDB: another transaction has changed a record since this one first read. */
const CHANGED = 1020
const LOCK_WAIT = 1205
const NO_TABLE = 1146
const NO_DATABASE = 1049
const NO_SAVEPOINT = 1305
/** Of mariadb. */
const NO_CONNECTION = 45_028
const FORBIDDEN: readonly number[] = [1044, 1142, 1143, 1227]

const NOTHING_WRITTEN = 'Nothing was written, and the next delivery tries again.'
const UNREACHABLE =
  'The database could not be reached, or closed the connection: are it and the network up? A restart, a failover, KILL, a statement larger than max_allowed_packet, or a handler that sends nothing for longer than idleTimeoutSeconds or wait_timeout look like this.'
const OPTIONS =
  'The client refused to open or to use a connection, because of an option of the pool or of what the server demands: its own error, the cause of this one, says why.'
const CERTIFICATE =
  'The certificate of the server could not be verified: give the pool that of its authority, ssl: { ca }, and connect to the host that it names.'
const OWN_CODE =
  'The inbox could not be used: as, the driver, or the library behind it threw before it sent anything to the database: see the cause of this error.'
const OTHER_TABLE = ({ name, migrate }: TableNames): string =>
  `The table ${name} was created by another version or another program: ${migrate} lists the differences.`
/** For a user without rights on a table. */
export const noRights = ({ name, migrate }: TableNames): string =>
  `The user of this connection has no rights on ${name}: the app's needs SELECT, INSERT, UPDATE and DELETE, and the one that runs ${migrate} CREATE, SELECT and INSERT.`
const NO_SERVER = 'There is no server at the host and port of the connection: is it up?'
const STARTING = 'The server is shutting down, or this connection was killed: the next delivery tries again.'
const FULL = `A disk or a table of the server is full: make room. ${NOTHING_WRITTEN}`
const TOO_MANY =
  'The server has no connection left for this user or at all: make the pools of all processes together smaller than the limit (max_connections, MAX_USER_CONNECTIONS).'
const READ_ONLY =
  'This server is read-only, such as a replica, or the session is, by transaction_read_only: connect the pool to the primary. After a failover, the next delivery reaches it over a new connection.'
const NOT_READY =
  'This node of a cluster takes no writes, as while it joins or has lost the others: the next delivery reaches another over a new connection, if the address of the pool is that of the cluster.'
const TOO_SLOW = `The server canceled the statement: it took longer than max_execution_time or max_statement_time, or was killed by hand. ${NOTHING_WRITTEN}`
const SLOW_CONNECTION =
  'No connection was free within the time-out: is the server reachable, and the pool large enough for concurrent deliveries?'
const CLOSED = 'The pool is closed: drain the receiver before you end it.'

/**
 * What a server says if it is not, or no longer, the one to write to, on a connection that stays open. One that shuts down ends its
 * connections itself.
 */
const WRONG_SERVER: Readonly<Record<number, string>> = {
  // read_only and super_read_only, transaction_read_only, innodb_read_only.
  1290: READ_ONLY,
  1792: READ_ONLY,
  1836: READ_ONLY,
  1874: READ_ONLY,
  // Galera, and Group Replication.
  1047: NOT_READY,
  3100: NOT_READY,
}

type Advice = string | ((names: TableNames) => string)

/** Advice by the number of the server's error, or by the code of a client's or a socket's. */
const ADVICE: Readonly<Record<string, Advice>> = {
  [NO_TABLE]: ({ name, migrate }) =>
    `The table ${name} is missing: run ${migrate} when you deploy, or apply the exported ddl.`,
  [NO_DATABASE]: 'The database of the connection, or of the table option, does not exist.',
  1046: 'The connection has no database: name one in the connection of the pool, or in the table option, such as app.webhooks.',
  1054: OTHER_TABLE,
  1364: OTHER_TABLE,
  ...Object.fromEntries(FORBIDDEN.map((number) => [number, noRights])),
  1045: 'The server refused the user or the password of the connection.',
  [LOCK_WAIT]: ({ name }) =>
    `A lock was not free within innodb_lock_wait_timeout: does a migration, or a long transaction, hold ${name}? ${NOTHING_WRITTEN}`,
  [DEADLOCK]: `Transactions waited for each other again and again, and the server ended this one: lock rows in the same order everywhere. ${NOTHING_WRITTEN}`,
  [CHANGED]: `Another transaction changed a record that this one was about to, as innodb_snapshot_isolation refuses: use READ COMMITTED, if it happens often. ${NOTHING_WRITTEN}`,
  1021: FULL,
  1114: FULL,
  1040: TOO_MANY,
  1203: TOO_MANY,
  1226: TOO_MANY,
  ...WRONG_SERVER,
  1053: STARTING,
  1927: STARTING,
  1317: TOO_SLOW,
  1969: TOO_SLOW,
  3024: TOO_SLOW,
  1064: 'The server does not know this SQL: it must be MySQL 8.0, MariaDB 10.6, or newer, and its sql_mode not ORACLE.',
  1104: 'sql_big_selects is off for this connection, and max_join_size so small that the server refuses our statements: set sql_big_selects to 1 for the user of the app.',
  1153: 'The statement is larger than max_allowed_packet of the server: it must be more than twice as large as maxBodyBytes.',
  1175: 'sql_safe_updates is on for this connection, and refuses statements for several records: set it to 0 for the user of the app.',
  1665: 'The server cannot write with binlog_format = STATEMENT at this isolation level: set binlog_format to ROW or MIXED.',
  ECONNREFUSED: NO_SERVER,
  ENOTFOUND: NO_SERVER,
  ETIMEDOUT: SLOW_CONNECTION,
  [NO_CONNECTION]: SLOW_CONNECTION,
  ER_GET_CONNECTION_TIMEOUT: SLOW_CONNECTION,
  45027: CLOSED,
  45038:
    'The server is a MySQL, which has no time-out for a statement as mariadb sets it: remove queryTimeout from the options of the pool, or use mysql2.',
  45044:
    "The account has a password of caching_sha2_password, the default of MySQL 8, and the connection no TLS: give mariadb's pool allowPublicKeyRetrieval: true, or cachingRsaPublicKey, or better ssl.",
  P2028: `Prisma got no connection within maxWait (2 s by default), or ended the transaction at its own timeout (5 s by default), before the run was over: pass both to prisma.$transaction(work, { maxWait, timeout }), in milliseconds, and a timeout longer than maxRunSeconds. ${NOTHING_WRITTEN}`,
}

/** Advice by the message, for errors without a number of their own. */
const BY_MESSAGE: readonly (readonly [RegExp, string])[] = [
  [/pool is closed|pool is (already )?clos(ed|ing)/i, CLOSED],
  [/no connection within|pool timeout|no connections available|queue limit reached/i, SLOW_CONNECTION],
]

/** The error of the store for one of the database or the driver, with advice. */
export function unavailable(error: unknown, names: TableNames): WebhookError {
  if (isWebhookError(error)) return error
  return new StoreError('store_unavailable', adviceFor(error, names), { cause: error })
}

/** Whether it came from a server that takes no writes, if need be by way of other errors: its connection must not be used again. */
export function isWrongServer(error: unknown): boolean {
  let found = error
  for (let depth = 0; found instanceof Object && depth < MAX_DEPTH; depth++) {
    if (Object.hasOwn(WRONG_SERVER, numberOf(found))) return true
    found = (found as { cause?: unknown }).cause
  }
  return false
}

/** Whether the server has refused a conflict with another transaction: this one can be run again at once. */
export function isConflict(error: unknown): boolean {
  return [DEADLOCK, CHANGED].includes(numberOf(error))
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

/** Whether the server names this table as the cause: that it is missing, or that the user has no right to it. */
export function isAbout(error: unknown, { table }: { readonly table: string }): boolean {
  if (!isMissing(error) && !isForbidden(error)) return false
  return new RegExp(`\\b${table}\\b`).test(String(innermost(error).message))
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

function adviceFor(error: unknown, names: TableNames): string {
  const { code, message: says } = innermost(error)
  const number = numberOf(error)
  // mysql2 has one code for all errors of TLS.
  if (isOfCertificate(code) || (code === 'HANDSHAKE_SSL_ERROR' && /certificate/i.test(String(says))))
    return CERTIFICATE
  const advice = [String(number), String(code)].flatMap((key) =>
    Object.hasOwn(ADVICE, key) ? (ADVICE[key] ?? []) : [],
  )[0]
  if (advice !== undefined) return typeof advice === 'string' ? advice : advice(names)
  const message = messageOf(error)
  const byMessage = BY_MESSAGE.find(([pattern]) => pattern.test(message))?.[1]
  if (byMessage !== undefined) return byMessage
  if (error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError)
    return OWN_CODE
  if (number > 0 && number < FIRST_OF_CLIENTS) {
    return `The database failed with error ${number}, which the cause of this error describes.`
  }
  const isOfSocket = number === 0 ? !OF_OPTIONS.test(String(code)) : OF_SOCKET.includes(number)
  return isOfSocket ? UNREACHABLE : OPTIONS
}

/** mariadb numbers its own errors from here on. */
const FIRST_OF_CLIENTS = 45_000
/** Those of mariadb's own errors that are about a connection: all others are about its options. */
const OF_SOCKET: readonly number[] = [
  45_001, 45_004, 45_009, 45_011, 45_012, 45_013, 45_019, 45_026, 45_042, 45_061,
]
/** The codes of mysql2's errors that are about its options. */
const OF_OPTIONS = /^(AUTH_SWITCH_|HANDSHAKE_)/

/** The number of the server's error; 0 if it is none. */
function numberOf(error: unknown): number {
  const { errno, code } = innermost(error)
  // Prisma has the number as its code.
  return [errno, code].map(Number).find((number) => Number.isInteger(number) && number > 0) ?? 0
}

interface ServerError {
  readonly errno?: unknown
  readonly code?: unknown
  readonly sqlState?: unknown
  readonly message?: unknown
}

/** The driver's error: some libraries wrap it, and put the statement into a message of their own. */
function innermost(error: unknown): ServerError {
  let found: ServerError = prismasCause(error) ?? ((error ?? {}) as ServerError)
  // That of a pool of mariadb says only that there was no connection, and its cause why.
  const isOuter = (): boolean => found.errno === undefined || found.errno === NO_CONNECTION
  for (let depth = 0; isOuter() && depth < MAX_DEPTH; depth++) {
    const { cause, original, driverError } = found as Record<string, unknown>
    // The last two are the names of Sequelize and TypeORM.
    const inner = [cause, original, driverError].find((one) => one instanceof Object)
    if (inner === undefined) break
    found = inner
  }
  return found.errno === undefined && found.code === undefined ? ((error as ServerError) ?? {}) : found
}

const MAX_DEPTH = 5

/** Prisma has a code of its own, and the server's error beside it. */
function prismasCause(error: unknown): ServerError | undefined {
  const { meta } = (error ?? {}) as {
    meta?: { code?: unknown; message?: unknown; driverAdapterError?: { cause?: Record<string, unknown> } }
  }
  const cause = meta?.driverAdapterError?.cause
  if (cause !== undefined)
    return { code: cause.originalCode, message: cause.originalMessage, sqlState: cause.sqlState }
  return meta?.code === undefined ? undefined : { code: meta.code, message: meta.message }
}

/** For settings of a connection that change what our statements do. */
export const SELECT_LIMIT =
  'sql_select_limit of the connections of this pool is below 1000, so that statements return too few rows: set it to DEFAULT for the user of the app.'
export const OTHER_ASSIGNMENT =
  'sql_mode of the connections of this pool has SIMULTANEOUS_ASSIGNMENT, as ORACLE has, with which an UPDATE means something else: remove it for the user of the app.'
/** For connections that do not commit by themselves. */
export const NO_AUTOCOMMIT =
  'The connections of this pool have autocommit off, so that nothing of the store would be committed: set autocommit = 1 for its user, and use START TRANSACTION in your own code.'
