/** What a column, or a parameter of a statement, holds. Dates are milliseconds since the epoch, by the clock of the ledger. */
export type SqlType = 'key' | 'token' | 'word' | 'text' | 'message' | 'integer' | 'ms' | 'bytes'

/**
 * One row for each event. What changes with each delivery (state, token, attempt, lease, expiry) is in no index, so that Postgres can write a
 * row in place; a failure has columns of its own, which are NULL for an event that has none. The bytes are last: what reads the other columns
 * does not read those of a large body.
 */
export const COLUMNS = {
  event_key: 'key',
  // 'running', 'released', 'handled' or 'discarded'.
  state: 'word',
  token: 'token',
  attempt: 'integer',
  lease_until: 'ms',
  expires_at: 'ms',
  // Written once, like the three after it.
  received_at: 'ms',
  namespace: 'text',
  account: 'text',
  kind: 'text',
  handled_at: 'ms',
  reason: 'message',
  // 'failing' or 'parked'.
  failure: 'word',
  failed_at: 'ms',
  first_at: 'ms',
  delivered_at: 'ms',
  replayed_at: 'ms',
  fails: 'integer',
  replays: 'integer',
  // Of a failure; `group` is a word of SQL.
  cause: 'word',
  code: 'text',
  message: 'message',
  event_id: 'text',
  order_id: 'text',
  signed_at: 'ms',
  secret_index: 'integer',
  raw_body: 'bytes',
} as const

export type Column = keyof typeof COLUMNS

export const COLUMN_NAMES: readonly Column[] = Object.keys(COLUMNS) as Column[]

/** The columns that are never NULL. */
export const REQUIRED: ReadonlySet<Column> = new Set(COLUMN_NAMES.slice(0, COLUMN_NAMES.indexOf('namespace')))

/** The columns of a failure, which any final end clears. */
export const FAILURE_COLUMNS: readonly Column[] = COLUMN_NAMES.slice(COLUMN_NAMES.indexOf('failure'))

/** Those of them that say what failed: of the delivery that failed last. */
export const LATEST_COLUMNS: readonly Column[] = COLUMN_NAMES.slice(COLUMN_NAMES.indexOf('cause'))

/** An index on the table: the end of its name and its columns. */
export interface Index {
  readonly suffix: string
  readonly columns: readonly Column[]
  /** Whether it is of events with a failure alone, where the database can. */
  readonly isOfFailures: boolean
}

export const INDEXES: readonly Index[] = [
  { suffix: 'received', columns: ['received_at', 'event_key'], isOfFailures: false },
  { suffix: 'failures', columns: ['received_at', 'event_key', 'failure'], isOfFailures: true },
  { suffix: 'causes', columns: ['cause', 'failed_at', 'event_key'], isOfFailures: true },
  { suffix: 'orders', columns: ['order_id'], isOfFailures: true },
]
