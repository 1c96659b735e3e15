import { isWebhookError, StoreError, type WebhookError } from '../../src/index.js'
import { messageOf } from '../../src/internal.js'
import { isOfCertificate } from '../lib/certificate.js'
import { ENDED, FAILED_AT_END, OUTSIDE, ROLLED_BACK } from './drivers/commit-check.js'

/** The names that advice on a table of ours needs. */
export interface TableNames {
  /** The quoted name, as SQL has it. */
  readonly name: string
  /** The user's call that creates it. */
  readonly migrate: string
}

const NOTHING_WRITTEN = 'Nothing was written, and the next delivery tries again.'
const UNREACHABLE =
  'Postgres could not be reached, or closed the connection: are it and the network up? A restart or a failover looks like this too.'
const CERTIFICATE =
  'The certificate of Postgres could not be verified: give the ssl option of the pool the certificate of its authority (ca), and connect to the host that it names.'
const TRANSACTION_MODE =
  'set its pool_mode to transaction. A store without failures needs that for migrate() alone: call it over a direct connection, or apply the exported ddl.'
const NO_TRANSACTIONS = `PgBouncer refused the transaction, because it is in statement mode: ${TRANSACTION_MODE}`
/** postgres.js hides why a connection ended. */
const CLOSED = `${UNREACHABLE} So does a PgBouncer in statement mode, which refuses transactions: ${TRANSACTION_MODE}`
const OWN_CODE =
  'The inbox could not be used: as, the driver, or the library behind it threw before it sent anything to Postgres: see the cause of this error.'
const OTHER_TABLE = ({ name, migrate }: TableNames): string =>
  `The table ${name} was created by another version or another program: ${migrate} lists the differences.`
const REFUSED_USER = 'Postgres refused the user or the password of the connection.'
const NO_PASSWORD = 'Postgres asks for a password, and the connection has none: check the connection string.'
const NO_SERVER = 'There is no Postgres at the host and port of the connection: is it up?'
const STARTING =
  'Postgres is shutting down or starting, or this connection was terminated: the next delivery tries again.'
const REPLICA =
  'This database is read-only, such as a replica: connect the pool to the primary. After a failover, the next delivery reaches it over a new connection. If it is the primary, default_transaction_read_only is on.'
const SLOW_CONNECTION =
  'No connection was free within the time-out: is Postgres reachable, and the pool large enough for concurrent deliveries?'

/** A code of the server, not of a connection that broke (class 08), of a socket, such as EPIPE, or of Prisma itself. */
const SQLSTATE = /^(?!08|E|P1|P2028)[0-9A-Z]{5}$/

/**
 * What a server says if it is not, or no longer, the one to write to, on a connection that stays open. One that shuts down, or that crashed
 * (57P01 to 57P03), ends its connections itself.
 */
const READ_ONLY = '25006'
const STANDBY = /hot standby/
const NOT_SUPPORTED = '0A000'

type Advice = string | ((names: TableNames) => string)

/** Advice by SQLSTATE, by the code of a socket's error, or by that of a client. */
const ADVICE: Readonly<Record<string, Advice>> = {
  '42P01': ({ name, migrate }) =>
    `The table ${name} is missing: run ${migrate} when you deploy, or apply the exported ddl.`,
  '3F000': ({ name }) =>
    `The schema of the table ${name} is missing, or none of the search_path exists: CREATE SCHEMA, or change the table option.`,
  '42703': OTHER_TABLE,
  '42P10': OTHER_TABLE,
  '42804': OTHER_TABLE,
  '42883': OTHER_TABLE,
  '42501': ({ name, migrate }) =>
    `The user of this connection has no rights on ${name}: the app's needs SELECT, INSERT, UPDATE and DELETE, and the one that runs ${migrate} CREATE on the schema.`,
  '3D000': 'The database of the connection does not exist: check the connection string.',
  '28000': REFUSED_USER,
  '28P01': REFUSED_USER,
  '55P03': ({ name }) =>
    `A lock was not free within lock_timeout: does a migration, or a long transaction, hold ${name}? ${NOTHING_WRITTEN}`,
  '57014': `Postgres canceled the statement: it took longer than statement_timeout, or was canceled by hand. Is the server slow, or a lock held for long? ${NOTHING_WRITTEN}`,
  '40001': `Postgres could not serialize this transaction with others that ran at the same time, as can happen above READ COMMITTED. ${NOTHING_WRITTEN}`,
  '40P01': `Two transactions waited for each other, and Postgres ended this one: lock rows in the same order everywhere. ${NOTHING_WRITTEN}`,
  '53100': `The disk of Postgres is full: make room. ${NOTHING_WRITTEN}`,
  '53200': `Postgres is out of memory, or of room for locks. ${NOTHING_WRITTEN}`,
  '53300':
    'Postgres has no connection left for this user, database or server: make the pools of all processes together smaller than the limit (max_connections, CONNECTION LIMIT), or put a pooler in between.',
  '25P03':
    'The handler sent nothing to Postgres for longer than idleTimeoutSeconds, or than the server allows, so its transaction was ended: do what takes long before the first statement, or after the commit.',
  '25P04': `The transaction took longer than maxRunSeconds, or than transaction_timeout, and Postgres ended it. ${NOTHING_WRITTEN}`,
  [READ_ONLY]: REPLICA,
  '26000':
    'A prepared statement was made on another connection, as behind PgBouncer in transaction mode: set prepare: false for postgres.js, or max_prepared_statements in PgBouncer 1.21 or newer.',
  '57P01': STARTING,
  '57P02': STARTING,
  '57P03': STARTING,
  '08P01':
    'Postgres, or a pooler such as PgBouncer in front of it, refused what the connection sent: the cause of this error describes it.',
  P2028: `Prisma got no connection within maxWait (2 s by default), or ended the transaction at its own timeout (5 s by default), before the run was over: pass both to prisma.$transaction(work, { maxWait, timeout }), in milliseconds, and a timeout longer than maxRunSeconds. ${NOTHING_WRITTEN}`,
  ECONNREFUSED: NO_SERVER,
  ENOTFOUND: NO_SERVER,
  CONNECT_TIMEOUT: SLOW_CONNECTION,
  CONNECTION_CLOSED: CLOSED,
}

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
  [/client password must be/i, NO_PASSWORD],
  [
    /not support SSL|before secure TLS connection/i,
    'Postgres, or the pooler in front of it, does not speak TLS on this port: check the host, the port and the ssl option of the pool.',
  ],
  [
    /unsupported startup parameter/i,
    'PgBouncer refused a setting of the connection, which the cause of this error names: list it in ignore_startup_parameters of PgBouncer, or leave it out of the options of the pool.',
  ],
  [
    /max_client_conn/i,
    'PgBouncer has no connection left for this app: raise max_client_conn, or make the pools of all processes together smaller.',
  ],
  [
    /query_wait_timeout/i,
    `PgBouncer had no connection to Postgres free within query_wait_timeout: raise default_pool_size, or look for transactions that last long. ${NOTHING_WRITTEN}`,
  ],
  [/authentication failed|no such user/i, REFUSED_USER],
  [STANDBY, REPLICA],
  [/calling end on the pool|CONNECTION_ENDED/i, 'The pool is closed: drain the receiver before you end it.'],
  [/transaction blocks not allowed in statement pooling/i, NO_TRANSACTIONS],
  [/timeout exceeded when trying to connect|due to connection timeout/i, SLOW_CONNECTION],
]

/** The error of the store for one of the database or the driver, with advice. */
export function unavailable(error: unknown, names: TableNames): WebhookError {
  if (isWebhookError(error)) return error
  return new StoreError('store_unavailable', adviceFor(error, names), { cause: error })
}

/** The same while the handler has the transaction: it may be too slow for the limits of that, and will be again. */
export function interrupted(error: unknown, names: TableNames): StoreError {
  const code = ['25P03', '25P04'].includes(String(codeOf(error))) ? 'rolled_back' : 'store_unavailable'
  return error instanceof StoreError ? error : new StoreError(code, adviceFor(error, names), { cause: error })
}

/** The same after the handler has returned: one of its own statements may have failed the transaction. */
export function notCommitted(error: unknown, names: TableNames): StoreError {
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

/** Whether the server names this table, or its schema, as the cause: that it is missing, or that the user has no right to it. */
export function isAbout(
  error: unknown,
  { table, name }: Pick<TableNames, 'name'> & { readonly table: string },
): boolean {
  if (!isMissing(error) && !isForbidden(error)) return false
  // Without the quotes, which the server does not always write.
  const [schema = ''] = name.replaceAll('"', '').split(`.${table}`)
  const message = String(innermost(error).message).replaceAll('"', '')
  return (
    new RegExp(`\\b${table}\\b`).test(message) || (schema !== table && message.includes(`schema ${schema}`))
  )
}

/** Whether it came from a server that takes no writes, if need be by way of other errors: its connection must not be used again. */
export function isWrongServer(error: unknown): boolean {
  let found = error
  for (let depth = 0; found instanceof Object && depth < MAX_DEPTH; depth++) {
    if (codeOf(found) === READ_ONLY || isOfStandby(found)) return true
    found = (found as { cause?: unknown }).cause
  }
  return false
}

/** A transaction that is SERIALIZABLE by default is not supported on a standby, which refuses it with the code of all that is not. */
export function isOfStandby(error: unknown): boolean {
  return codeOf(error) === NOT_SUPPORTED && STANDBY.test(String((error as { message?: unknown }).message))
}

/** Whether the transaction was above READ COMMITTED, and another one changed rows that it has read. */
export function isConflict(error: unknown): boolean {
  return codeOf(error) === '40001'
}

/** Whether a transaction may have failed only because it was one. */
export function mayRefuseTransactions(error: unknown): boolean {
  return ['08P01', 'CONNECTION_CLOSED'].includes(String(codeOf(error)))
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

function adviceFor(error: unknown, names: TableNames): string {
  const code = String(codeOf(error))
  const text = `${messageOf(error)} ${String(innermost(error).message)}`
  const byMessage = BY_MESSAGE.find(([pattern]) => pattern.test(text))?.[1]
  const advice = byMessage ?? (Object.hasOwn(ADVICE, code) ? ADVICE[code] : undefined)
  if (advice !== undefined) return typeof advice === 'string' ? advice : advice(names)
  if (isOfCertificate(code)) return CERTIFICATE
  if (error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError)
    return OWN_CODE
  return SQLSTATE.test(code)
    ? `Postgres failed with ${code}, which the cause of this error describes.`
    : UNREACHABLE
}

function codeOf(error: unknown): unknown {
  return innermost(error).code
}

/** The driver's error: some libraries wrap it, and put the statement into a message of their own. */
export function innermost(error: unknown): { code?: unknown; message?: unknown } {
  let found = prismasCause(error) ?? ((error ?? {}) as { code?: unknown; message?: unknown })
  for (let depth = 0; found.code === undefined && depth < MAX_DEPTH; depth++) {
    const { cause, original, driverError } = found as Record<string, unknown>
    // The last two are the names of Sequelize and TypeORM.
    const inner = [cause, original, driverError].find((one) => one instanceof Object)
    if (inner === undefined) break
    found = inner
  }
  return found.code === undefined ? ((error as object) ?? {}) : found
}

const MAX_DEPTH = 5

/** Prisma has a code of its own, and the server's error beside it. */
function prismasCause(error: unknown): { code: unknown; message: unknown } | undefined {
  const { meta } = (error ?? {}) as { meta?: { driverAdapterError?: { cause?: Record<string, unknown> } } }
  const cause = meta?.driverAdapterError?.cause
  return cause && { code: cause.originalCode, message: cause.originalMessage }
}

const ENDED_BY_HANDLER =
  'The handler ended the transaction of the inbox itself, so what it wrote may be lost, or kept without its record: leave BEGIN, COMMIT and ROLLBACK to the inbox, and use a SAVEPOINT within it.'
