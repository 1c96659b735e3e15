import { isWebhookError, StoreError, type WebhookError } from '../../src/index.js'

/** The names that advice on a table of ours needs. */
export interface TableNames {
  /** The quoted name, as SQL has it. */
  readonly name: string
  /** The user's call that creates it. */
  readonly migrate: string
}

export type Advice = string | ((names: TableNames) => string)

export const NOTHING_WRITTEN = 'Nothing was written, and the next delivery tries again.'
export const MISSING: Advice = ({ name, migrate }) =>
  `The table ${name} is missing: run ${migrate} when you deploy, or apply the exported ddl.`
export const OTHER_TABLE: Advice = ({ name, migrate }) =>
  `The table ${name} was created by another version or another program: ${migrate} lists the differences.`
export const SLOW_CONNECTION =
  'No connection was free within the time-out: is the database reachable, and the pool large enough for concurrent deliveries?'
export const CLOSED = 'The pool is closed: drain the receiver before you end it.'
/** The code P2028. */
export const PRISMA_TOO_SLOW: string = `Prisma got no connection within maxWait (2 s by default), or ended the transaction at its own timeout (5 s by default), before the run was over: pass both to prisma.$transaction(work, { maxWait, timeout }), in milliseconds, and a timeout longer than maxRunSeconds. ${NOTHING_WRITTEN}`

/** @param codes several of one advice, with blanks between them */
export function byCode(codes: Readonly<Record<string, Advice>>): ReadonlyMap<string, Advice> {
  return new Map(
    Object.entries(codes).flatMap(([of, advice]) => of.split(' ').map((code) => [code, advice] as const)),
  )
}

/** What an error says of a code that has no advice; nothing if it is the library's own. */
export function adviceOnOwnCode(error: unknown): string | undefined {
  const isOwn = [TypeError, ReferenceError, RangeError].some((type) => error instanceof type)
  return isOwn
    ? 'The inbox could not be used: as, the driver, or the library behind it threw before it sent anything to the database: see the cause of this error.'
    : undefined
}

/** The error of the store for one of the database or the driver. */
export function unavailableFor(error: unknown, advice: Advice, names: TableNames): WebhookError {
  if (isWebhookError(error)) return error
  return new StoreError('store_unavailable', typeof advice === 'string' ? advice : advice(names), {
    cause: error,
  })
}

export interface ServerError {
  readonly errno?: unknown
  readonly code?: unknown
  readonly sqlState?: unknown
  readonly message?: unknown
}

const MAX_DEPTH = 5

/** Whether it is such an error, or came of one by way of others. */
export function isCausedBy(error: unknown, isSuch: (error: unknown) => boolean): boolean {
  let found = error
  for (let depth = 0; found instanceof Object && depth < MAX_DEPTH; depth++) {
    if (isSuch(found)) return true
    found = (found as { cause?: unknown }).cause
  }
  return false
}

/**
 * The driver's error: some libraries wrap it, and put the statement into a message of their own.
 *
 * @param isOuter whether the error is such a library's
 */
export function innermostOf(error: unknown, isOuter: (found: ServerError) => boolean): ServerError {
  let found = prismasCause(error) ?? ((error ?? {}) as ServerError)
  for (let depth = 0; isOuter(found) && depth < MAX_DEPTH; depth++) {
    const { cause, original, driverError } = found as Record<string, unknown>
    // The last two are the names of Sequelize and TypeORM.
    const inner = [cause, original, driverError].find((one) => one instanceof Object)
    if (inner === undefined) break
    found = inner
  }
  return found.errno === undefined && found.code === undefined ? ((error ?? {}) as ServerError) : found
}

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
