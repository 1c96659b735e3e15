import { type CheckedFilter, type CheckedQuery, storableText } from '../../src/internal.js'
import type { Parameters } from './table.js'

/**
 * The columns of the table of failures. Times are in milliseconds. The bytes are last: what reads the other columns does not read those of
 * a body over 4 KB, and an update that leaves their place in the row leaves their pages in the file.
 */
export const FAILURE_COLUMNS: Readonly<Record<string, string>> = {
  key: 'TEXT NOT NULL PRIMARY KEY',
  namespace: 'TEXT NOT NULL',
  account: 'TEXT',
  kind: 'TEXT NOT NULL',
  event_id: 'TEXT',
  order_id: 'TEXT',
  state: "TEXT NOT NULL CHECK (state IN ('failing', 'parked'))",
  cause: 'TEXT NOT NULL',
  code: 'TEXT NOT NULL',
  message: 'TEXT NOT NULL',
  secret_index: 'INTEGER NOT NULL',
  signed_at: 'INTEGER NOT NULL',
  first_at: 'INTEGER NOT NULL',
  last_at: 'INTEGER NOT NULL',
  last_replayed_at: 'INTEGER',
  attempts: 'INTEGER NOT NULL',
  replays: 'INTEGER NOT NULL',
  raw_body: 'BLOB NOT NULL',
}

export const FAILURE_INDEXES: Readonly<Record<string, string>> = {
  last_at: '(last_at)',
  state: '(state, last_at)',
  // It has all columns that groups and counts read, so that they read no row.
  cause: '(cause, last_at, first_at, state, kind, namespace, account)',
  event_id: '(event_id) WHERE event_id IS NOT NULL',
  order_id: '(order_id) WHERE order_id IS NOT NULL',
}

const COLUMN_OF: Readonly<Record<keyof CheckedFilter, string>> = {
  state: 'state',
  kind: 'kind',
  account: 'account',
  namespace: 'namespace',
  group: 'cause',
  eventId: 'event_id',
  orderId: 'order_id',
}

/** The latest date of JavaScript. */
const LAST_DATE = 8.64e15

/** A statement with its parameters: node:sqlite refuses those that it does not have. */
export interface Question {
  readonly sql: string
  readonly parameters: Parameters
}

export interface FailureStatements {
  readonly find: string
  readonly stateOf: string
  readonly delete: string
  readonly keep: string
  list(query: CheckedQuery): Question
  groups(filter: CheckedFilter, limit: number): Question
  count(filter: CheckedFilter): Question
}

/** @param table the quoted name */
export function failureStatements(table: string): FailureStatements {
  return {
    find: `SELECT * FROM ${table} WHERE key = @key`,
    stateOf: `SELECT state FROM ${table} WHERE key = @key`,
    delete: `DELETE FROM ${table} WHERE key = @key`,
    keep: keepStatement(table),
    list: (query) => listQuestion(table, query),
    groups: (filter, limit) => groupsQuestion(table, filter, limit),
    count(filter) {
      const isAlone = Object.keys(filter).length === 1
      const { where, parameters } = conditionsOf(filter, isAlone)
      return { sql: `SELECT count(*) AS count FROM ${table} WHERE ${where}`, parameters }
    },
  }
}

/** Parameters are the columns, and `isReplay`, `parkAttempts` and `parkMs`; a comparison with NULL is not true. */
function keepStatement(table: string): string {
  const latest = ['namespace', 'account', 'kind', 'event_id', 'order_id', 'cause', 'code', 'message']
  const replaced = [...latest, 'secret_index', 'signed_at', 'raw_body']
  return `
    INSERT INTO ${table} AS stored (
      key, namespace, account, kind, event_id, order_id, state, cause, code, message,
      secret_index, signed_at, first_at, last_at, last_replayed_at, attempts, replays, raw_body
    ) VALUES (
      @key, @namespace, @account, @kind, @eventId, @orderId,
      CASE WHEN 1 >= @parkAttempts OR 0 >= @parkMs THEN 'parked' ELSE 'failing' END,
      @group, @code, @message, @secretIndex, @signedAt, @failedAt, @failedAt,
      CASE WHEN @isReplay THEN @failedAt END, 1, @isReplay,
      -- Some drivers bind no bytes as NULL.
      coalesce(@rawBody, x'')
    )
    ON CONFLICT (key) DO UPDATE SET
      ${replaced.map((column) => `${column} = excluded.${column}`).join(', ')},
      state = CASE
        WHEN stored.state = 'parked'
          OR stored.attempts + 1 >= @parkAttempts
          OR max(stored.last_at, excluded.last_at) - stored.first_at >= @parkMs
        THEN 'parked' ELSE 'failing'
      END,
      last_at = max(stored.last_at, excluded.last_at),
      last_replayed_at = coalesce(excluded.last_replayed_at, stored.last_replayed_at),
      attempts = stored.attempts + 1,
      replays = stored.replays + excluded.replays
    RETURNING state`
}

function listQuestion(table: string, { filter, order, before, after, limit }: CheckedQuery): Question {
  const isRare = ['group', 'eventId', 'orderId'].some((name) => name in filter)
  const { where, parameters } = conditionsOf(filter, !isRare)
  // Always with a bound of the date alone: without one SQLite sorts all rows, because of their keys.
  const conditions = [where, 'last_at <= @latest']
  const all: Record<string, string | number> = { ...parameters, limit, latest: before?.atMs ?? LAST_DATE }
  if (before !== undefined) {
    conditions.push('(last_at < @latest OR key < @beforeKey)')
    all.beforeKey = before.key
  }
  if (after !== undefined) {
    conditions.push('(last_at, key) > (@afterAt, @afterKey)')
    all.afterAt = after.atMs
    all.afterKey = after.key
  }
  const direction = order === 'newest' ? 'DESC' : 'ASC'
  return {
    sql: `SELECT * FROM ${table} WHERE ${conditions.join(' AND ')}
      ORDER BY last_at ${direction}, key ${direction} LIMIT @limit`,
    parameters: all,
  }
}

function groupsQuestion(table: string, filter: CheckedFilter, limit: number): Question {
  const { where, parameters } = conditionsOf(filter, false)
  return {
    sql: `
      WITH found AS (
        SELECT cause, count(*) AS count, min(first_at) AS first_at, max(last_at) AS last_at
        FROM ${table} WHERE ${where} GROUP BY cause ORDER BY max(last_at) DESC LIMIT @limit
      )
      SELECT found.*, latest.kind, latest.code, latest.message
      FROM found JOIN ${table} AS latest ON latest.key = (
        SELECT key FROM ${table} AS one
        WHERE one.cause = found.cause AND one.last_at = found.last_at AND ${where}
        ORDER BY key DESC LIMIT 1
      )
      ORDER BY found.last_at DESC`,
    parameters: { ...parameters, limit },
  }
}

/**
 * @param searchesState whether the index of the state may be used: nearly all rows may have the same, so another index is better if there
 * is one, and SQLite does not know
 */
function conditionsOf(
  filter: CheckedFilter,
  searchesState: boolean,
): { where: string; parameters: Record<string, string> } {
  const names = Object.keys(filter) as (keyof CheckedFilter)[]
  // SQLite uses no index for a column with a plus.
  const plus = (name: string): string => (name === 'state' && !searchesState ? '+' : '')
  return {
    where: names.map((name) => `${plus(name)}${COLUMN_OF[name]} = @${name}`).join(' AND ') || 'true',
    parameters: Object.fromEntries(names.map((name) => [name, storableText(filter[name] ?? '')])),
  }
}
