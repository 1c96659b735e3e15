import type { EventPosition } from '../../src/index.js'
import { type CheckedFilter, type CheckedQuery, storableText } from '../../src/internal.js'
import { COLUMN_NAMES, COLUMNS, type Column, type SqlType } from './columns.js'
import type { CoreSql, Fields, Value } from './statement.js'

/** A question to the table. A dialect selects the values in a form that no client converts, and reads them by their types. */
export interface Read {
  readonly select: readonly Selected[]
  /** All after SELECT and its list; `:table` is the table. */
  readonly from: CoreSql
  readonly fields: Fields
  readonly values: Readonly<Record<string, Value>>
}

interface Selected {
  readonly sql: CoreSql
  readonly type: SqlType
}

/** The most that a count goes up to: whoever reads it needs no more, and a table can have millions. */
export const MOST_COUNTED = 10_000

/** The columns of a record: all but the token, and the bytes, which are read only if they are asked for. */
export const RECORD_COLUMNS: readonly Column[] = COLUMN_NAMES.filter(
  (column) => column !== 'token' && column !== 'raw_body',
)

const RECORD: readonly Selected[] = [
  ...RECORD_COLUMNS.map((column) => ({ sql: `event.${column}`, type: COLUMNS[column] })),
  { sql: 'length(event.raw_body)', type: 'integer' },
  // For a lease that is over.
  { sql: ':now', type: 'ms' },
]
const BODY: Selected = { sql: 'event.raw_body', type: 'bytes' }

const FILTERED: Readonly<Record<keyof CheckedFilter, CoreSql>> = {
  state: '',
  namespace: 'namespace = :namespace',
  account: 'account = :account',
  kind: 'kind = :kind',
  group: 'cause = :group',
  eventId: 'event_id = :eventId',
  orderId: 'order_id = :orderId',
}

/** Written out, because the index of failures is only used if its condition is in the query. */
const STATES: Readonly<Record<string, CoreSql>> = {
  failing: "failed_at IS NOT NULL AND failure = 'failing'",
  parked: "failed_at IS NOT NULL AND failure = 'parked'",
  handled: "state = 'handled'",
  discarded: "state = 'discarded'",
}
const ANY_FAILURE = 'failed_at IS NOT NULL'

interface Wanted {
  readonly filter: CheckedFilter
  readonly before?: EventPosition | undefined
  readonly after?: EventPosition | undefined
}

/** The conditions of a question, each with its parameters. */
function conditionsOf({
  filter,
  before,
  after,
}: Wanted): Pick<Read, 'fields' | 'values'> & { where: CoreSql } {
  const { state, ...rest } = filter
  const where: CoreSql[] = [
    'expires_at > :now',
    state === undefined ? ANY_FAILURE : (STATES[state] as CoreSql),
  ]
  const fields: Record<string, SqlType> = {}
  const values: Record<string, Value> = {}
  for (const [name, value] of Object.entries(rest) as [keyof typeof rest, string][]) {
    where.push(FILTERED[name])
    fields[name] = name === 'group' ? 'word' : 'text'
    // As what is kept.
    values[name] = storableText(String(value))
  }
  for (const [name, than, place] of [
    ['before', '<', before],
    ['after', '>', after],
  ] as const) {
    if (place === undefined) continue
    // Not as a pair, for which MySQL uses no index.
    where.push(
      `received_at ${than}= :${name}_ms AND (received_at ${than} :${name}_ms OR event_key ${than} :${name}_key)`,
    )
    Object.assign(fields, { [`${name}_ms`]: 'ms', [`${name}_key`]: 'key' })
    Object.assign(values, { [`${name}_ms`]: place.receivedAt.getTime(), [`${name}_key`]: place.key })
  }
  return { where: where.join(' AND '), fields, values }
}

export function reading(key: string): Read {
  return {
    select: [...RECORD, BODY],
    from: 'FROM :table AS event WHERE event_key = :key AND expires_at > :now',
    fields: { key: 'key' },
    values: { key },
  }
}

/** The keys first, from an index, so that only the rows of the page are read. */
export function listing({ order, limit, bodies, ...wanted }: CheckedQuery): Read {
  const direction = order === 'newest' ? 'DESC' : 'ASC'
  const { where, fields, values } = conditionsOf(wanted)
  return {
    select: bodies ? [...RECORD, BODY] : RECORD,
    from: `FROM :table AS event JOIN (
      SELECT event_key AS page_key FROM :table WHERE ${where}
      ORDER BY received_at ${direction}, event_key ${direction} LIMIT :limit
    ) AS page ON event.event_key = page_key ORDER BY event.received_at ${direction}, event.event_key ${direction}`,
    fields: { ...fields, limit: 'integer' },
    values: { ...values, limit },
  }
}

/** The latest failure of a group is looked up by its date, in the index that begins with the cause. */
export function grouping(filter: CheckedFilter, limit: number): Read {
  const { where, fields, values } = conditionsOf({ filter })
  return {
    select: [
      { sql: 'found_cause', type: 'word' },
      { sql: 'found_count', type: 'integer' },
      { sql: 'found_parked', type: 'integer' },
      { sql: 'found_replays', type: 'integer' },
      { sql: 'found_first', type: 'ms' },
      { sql: 'found_last', type: 'ms' },
      { sql: 'latest.kind', type: 'text' },
      { sql: 'latest.code', type: 'text' },
      { sql: 'latest.message', type: 'message' },
    ],
    from: `FROM (
      SELECT cause AS found_cause, count(*) AS found_count, sum(CASE failure WHEN 'parked' THEN 1 ELSE 0 END) AS found_parked,
        sum(replays) AS found_replays, min(first_at) AS found_first, max(failed_at) AS found_last
      FROM :table WHERE ${where} GROUP BY cause ORDER BY max(failed_at) DESC, cause LIMIT :limit
    ) AS found JOIN :table AS latest ON latest.event_key = (
      SELECT event_key FROM :table WHERE cause = found_cause AND failed_at = found_last AND ${where}
      ORDER BY event_key DESC LIMIT 1
    ) ORDER BY found_last DESC, found_cause`,
    fields: { ...fields, limit: 'integer' },
    values: { ...values, limit },
  }
}

export function counting(filter: CheckedFilter): Read {
  const { where, fields, values } = conditionsOf({ filter })
  return {
    select: [{ sql: 'count(*)', type: 'integer' }],
    from: `FROM (SELECT 1 AS one FROM :table WHERE ${where} LIMIT ${MOST_COUNTED + 1}) AS counted`,
    fields,
    values,
  }
}
