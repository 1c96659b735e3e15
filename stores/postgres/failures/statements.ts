import { DURABLE } from '../drivers/commit-check.js'
import { hexIn } from './texts.js'

/** The columns of a delivery that failed, which a later failure of the event replaces. */
const OF_DELIVERY = {
  namespace: 'text NOT NULL',
  account: 'text',
  kind: 'text NOT NULL',
  event_id: 'text COLLATE "C"',
  order_id: 'text COLLATE "C"',
  signed_at: 'timestamptz NOT NULL',
  secret_index: 'integer NOT NULL',
  // `group` is a word of SQL.
  cause: 'text NOT NULL',
  code: 'text NOT NULL',
  message: 'text NOT NULL',
}

export const COLUMNS: Readonly<Record<string, string>> = {
  key: 'text COLLATE "C" PRIMARY KEY',
  ...OF_DELIVERY,
  state: 'text NOT NULL',
  first_at: 'timestamptz NOT NULL',
  last_at: 'timestamptz NOT NULL',
  attempts: 'integer NOT NULL',
  replays: 'integer NOT NULL',
  last_replayed_at: 'timestamptz',
  raw_body: 'bytea NOT NULL',
}

/**
 * Lists, groups and counts read the first one alone, whatever their filter, but for the bytes of what they return; purges too. Its
 * entries must stay below 2,704 bytes, or a failure could not be kept.
 */
export const INDEXES = {
  last_at: '(last_at, key) INCLUDE (first_at, state, kind, account, namespace, cause)',
  event_id: '(event_id) WHERE event_id IS NOT NULL',
  order_id: '(order_id) WHERE order_id IS NOT NULL',
}

/** The columns by which failures are filtered. */
const FILTERED: Readonly<Record<string, string>> = {
  state: 'state',
  kind: 'kind',
  account: 'account',
  namespace: 'namespace',
  group: 'cause',
  eventId: 'event_id',
  orderId: 'order_id',
}

/** Conditions, and the bounds of a page. Each value is a text of the same name in the JSON that is $1. */
export interface Wanted {
  readonly filter: readonly string[]
  readonly before?: boolean
  readonly after?: boolean
}

const given = (name: string): string => `($1::text::jsonb ->> '${name}')`
const positionOf = (name: string): string => `(${given(`${name}At`)}::timestamptz, ${given(`${name}Key`)})`

function conditions({ filter, before, after }: Wanted): string {
  return [
    // So that the parameter always has a use, and with it a type.
    '$1::text IS NOT NULL',
    ...filter.map((name) => `${FILTERED[name]} = ${given(name)}`),
    ...(before ? [`(last_at, key) < ${positionOf('before')}`] : []),
    ...(after ? [`(last_at, key) > ${positionOf('after')}`] : []),
  ].join(' AND ')
}

/** Milliseconds since the epoch. */
const ms = (date: string): string => `(extract(epoch FROM ${date}) * 1000)::bigint`

const json = (...values: string[]): string =>
  hexIn(`convert_to(json_build_array(${values.join(', ')})::text, 'UTF8')`)

/** One row: its text, numbers and dates in the order of `failureIn`, and its bytes. */
const FAILURE = `${json(
  'key',
  'namespace',
  'account',
  'kind',
  'event_id',
  'order_id',
  ms('signed_at'),
  'secret_index',
  'cause',
  'code',
  'message',
  'state',
  ms('first_at'),
  ms('last_at'),
  'attempts',
  'replays',
  ms('last_replayed_at'),
)} AS details, ${hexIn('raw_body')} AS body`

/** @param inbox the table of records, for a failure that is not to be kept if its event has been handled */
export function keeping(table: string, inbox?: string): string {
  const columns = Object.keys(OF_DELIVERY)
  const updates = columns.map((column) => `${column} = excluded.${column}`)
  const types = Object.entries(OF_DELIVERY).map(([column, type]) => `${column} ${type.split(' ')[0]}`)
  const lastAt = 'greatest(stored.last_at, excluded.last_at)'
  const unhandled =
    inbox === undefined
      ? ''
      : `WHERE NOT EXISTS (SELECT FROM ${inbox} AS record WHERE record.key = failed.key AND record.expires_at > now())`
  // The same bytes are left where they are: they may be a megabyte in a table beside this one.
  return `
    WITH failed AS MATERIALIZED (
      SELECT *, decode($2::text, 'hex') AS raw_body
      FROM jsonb_to_record($1::text::jsonb) AS given
        (key text, ${types.join(', ')}, failed_at timestamptz, replays integer, park_attempts float8, park_ms float8)
    )
    INSERT INTO ${table} AS stored
      (key, ${columns.join(', ')}, state, first_at, last_at, attempts, replays, last_replayed_at, raw_body)
    SELECT key, ${columns.join(', ')},
      CASE WHEN 1 >= park_attempts OR 0 >= park_ms THEN 'parked' ELSE 'failing' END,
      failed_at, failed_at, 1, replays, CASE WHEN replays > 0 THEN failed_at END, raw_body
    FROM failed ${unhandled}
    ON CONFLICT (key) DO UPDATE SET ${updates.join(', ')},
      state = CASE WHEN stored.state = 'parked'
        OR stored.attempts + 1 >= (SELECT park_attempts FROM failed)
        OR ${ms(lastAt)} - ${ms('stored.first_at')} >= (SELECT park_ms FROM failed)
        THEN 'parked' ELSE 'failing' END,
      last_at = ${lastAt},
      attempts = stored.attempts + 1,
      replays = stored.replays + excluded.replays,
      last_replayed_at = coalesce(excluded.last_replayed_at, stored.last_replayed_at),
      raw_body = CASE WHEN stored.raw_body = excluded.raw_body THEN stored.raw_body ELSE excluded.raw_body END
    RETURNING state = 'parked' AS parked, ${DURABLE}`
}

export function getting(table: string): string {
  return `SELECT ${FAILURE} FROM ${table} WHERE key = $1::text`
}

export function deleting(table: string): string {
  return `DELETE FROM ${table} WHERE key = $1::text RETURNING true AS deleted`
}

/**
 * The keys first, from an index, so that only the rows of the page are read. Those of an id are found before they are sorted: while the
 * table has no statistics, Postgres would rather read all rows in their order than sort a few.
 */
export function listing(table: string, order: 'newest' | 'oldest', wanted: Wanted): string {
  const direction = order === 'newest' ? 'DESC' : 'ASC'
  const sorted = `ORDER BY last_at ${direction}, key ${direction}`
  const found = `SELECT key, last_at FROM ${table} WHERE ${conditions(wanted)}`
  const isOfId = wanted.filter.some((name) => name === 'eventId' || name === 'orderId')
  return `
    WITH found AS ${isOfId ? 'MATERIALIZED' : 'NOT MATERIALIZED'} (${found}), page AS MATERIALIZED (
      SELECT key FROM found ${sorted} LIMIT $2::integer
    )
    SELECT ${FAILURE} FROM ${table} JOIN page USING (key) ${sorted}`
}

/** The latest failure of a group is looked up by its date, because no index begins with the group. */
export function grouping(table: string, wanted: Wanted): string {
  return `
    WITH counted AS MATERIALIZED (
      SELECT cause, count(*) AS failures, min(first_at) AS first_at, max(last_at) AS last_at
      FROM ${table} WHERE ${conditions(wanted)}
      GROUP BY cause ORDER BY max(last_at) DESC, cause LIMIT $2::integer
    )
    SELECT ${json('counted.cause', 'failures', ms('counted.first_at'), ms('counted.last_at'), 'kind', 'code', 'message')} AS details
    FROM counted CROSS JOIN LATERAL (
      SELECT kind, code, message FROM ${table} AS stored
      WHERE stored.last_at = counted.last_at AND stored.cause = counted.cause AND ${conditions(wanted)}
      ORDER BY key DESC LIMIT 1
    ) AS latest
    ORDER BY counted.last_at DESC, counted.cause`
}

export function counting(table: string, wanted: Wanted): string {
  return `SELECT ${json('count(*)')} AS details FROM ${table} WHERE ${conditions(wanted)}`
}

/** By the clock of the server, which differs from those of apps by less than the retention allows. */
export function purging(table: string): string {
  return `
    WITH expired AS (
      SELECT key FROM ${table} WHERE last_at <= now() - $1::float8 * interval '1 ms'
      ORDER BY last_at, key LIMIT $2::integer FOR UPDATE SKIP LOCKED
    )
    DELETE FROM ${table} AS stored USING expired WHERE stored.key = expired.key RETURNING true AS deleted`
}
