import type { FailedDelivery } from '../../../src/index.js'
import { type CheckedFilter, type Position, storableText } from '../../../src/internal.js'
import { bytes, NOW, text, whole } from '../sql.js'

const ANY_TEXT = 'CHARACTER SET utf8mb4 COLLATE utf8mb4_bin'

/** The columns of a delivery that failed, which a later failure of the event replaces; 255 characters are the most of each. */
const OF_DELIVERY: Readonly<Record<string, string>> = {
  namespace: `VARCHAR(255) ${ANY_TEXT} NOT NULL`,
  account: `VARCHAR(255) ${ANY_TEXT}`,
  kind: `VARCHAR(255) ${ANY_TEXT} NOT NULL`,
  event_id: `VARCHAR(255) ${ANY_TEXT}`,
  order_id: `VARCHAR(255) ${ANY_TEXT}`,
  signed_at: 'BIGINT NOT NULL',
  secret_index: 'INT NOT NULL',
  // `group` is a word of SQL.
  cause: `VARCHAR(64) ${ANY_TEXT} NOT NULL`,
  code: `VARCHAR(255) ${ANY_TEXT} NOT NULL`,
  message: `TEXT ${ANY_TEXT} NOT NULL`,
}

/** Times are in milliseconds. */
export const COLUMNS: Readonly<Record<string, string>> = {
  key: 'VARBINARY(255) NOT NULL',
  ...OF_DELIVERY,
  state: "ENUM('failing', 'parked') NOT NULL",
  first_at: 'BIGINT NOT NULL',
  last_at: 'BIGINT NOT NULL',
  attempts: 'INT UNSIGNED NOT NULL',
  replays: 'INT UNSIGNED NOT NULL',
  last_replayed_at: 'BIGINT',
  raw_body: 'LONGBLOB NOT NULL',
}

export const INDEXES = {
  last_at: '(last_at, `key`)',
  cause: '(cause, last_at)',
  event_id: '(event_id)',
  order_id: '(order_id)',
}

/** The columns by which failures are filtered. */
const FILTERED: Readonly<Record<keyof CheckedFilter, string>> = {
  state: 'state',
  kind: 'kind',
  account: 'account',
  namespace: 'namespace',
  group: 'cause',
  eventId: 'event_id',
  orderId: 'order_id',
}

/** Conditions, and the bounds of a page. */
export interface Wanted {
  readonly filter: CheckedFilter
  readonly before?: Position | undefined
  readonly after?: Position | undefined
}

/** Trailing blanks count: the collation ignores them. */
function conditions({ filter, before, after }: Wanted): string {
  const isEqual = Object.entries(filter).map(([name, value]) => {
    const column = FILTERED[name as keyof CheckedFilter]
    const wanted = text(storableText(value))
    return `${column} = ${wanted} AND CHAR_LENGTH(${column}) = CHAR_LENGTH(${wanted})`
  })
  return [
    ...isEqual,
    ...(before === undefined ? [] : [beyond('<', before)]),
    ...(after === undefined ? [] : [beyond('>', after)]),
    'TRUE',
  ].join(' AND ')
}

/** Not as a row, for which no index is used. */
function beyond(than: '<' | '>', { atMs, key }: Position): string {
  const at = dateOf(atMs)
  return `last_at ${than}= ${at} AND (last_at ${than} ${at} OR \`key\` ${than} ${bytes(key)})`
}

/**
 * Text and bytes in hexadecimal digits, which no client converts; a minus for none. With a short name: mariadb misreads the columns of rows
 * that were sorted in a temporary table if a name has more than 250 bytes, and its error ends the process.
 */
function values(...columns: readonly string[]): string {
  return `CONCAT_WS(',', ${columns.map((column) => `IFNULL(HEX(${column}), '-')`).join(', ')}) AS found_values`
}

/** As text, because HEX of a number is the number itself in hexadecimal. */
const number = (column: string): string => `CAST(${column} AS CHAR CHARACTER SET utf8mb4)`

/** One row: its values in the order of `failureIn`, and its bytes. */
const FAILURE = `${values(
  '`key`',
  'namespace',
  'account',
  'kind',
  'event_id',
  'order_id',
  number('signed_at'),
  number('secret_index'),
  'cause',
  'code',
  'message',
  'state',
  number('first_at'),
  number('last_at'),
  number('attempts'),
  number('replays'),
  number('last_replayed_at'),
)}, CONCAT('x', HEX(raw_body)) AS found_body`

/** Assignments are made one after the other, and see what those before them have assigned. */
export function keeping(table: string, failed: FailedDelivery): string {
  const { parkAfter = {}, account, eventId, orderId } = failed
  const given = (value: string): string => text(storableText(value))
  const ifAny = (value: string | undefined): string => (value === undefined ? 'NULL' : given(value))
  const failedAt = dateOf(failed.failedAt.getTime())
  const isOver = (attempts: string, ms: string): string =>
    [
      ...(parkAfter.attempts === undefined ? [] : [`${attempts} >= ${whole(parkAfter.attempts)}`]),
      ...(parkAfter.ms === undefined ? [] : [`${ms} >= ${whole(parkAfter.ms)}`]),
      'FALSE',
    ].join(' OR ')
  const written: Readonly<Record<string, string>> = {
    key: bytes(failed.key),
    namespace: given(failed.namespace),
    account: ifAny(account),
    kind: given(failed.kind),
    event_id: ifAny(eventId),
    order_id: ifAny(orderId),
    signed_at: dateOf(failed.signedAt.getTime()),
    secret_index: whole(failed.secretIndex),
    cause: given(failed.group),
    code: given(failed.code),
    message: given(failed.message),
    state: `IF(${isOver('1', '0')}, 'parked', 'failing')`,
    first_at: failedAt,
    last_at: failedAt,
    attempts: '1',
    replays: failed.isReplay ? '1' : '0',
    last_replayed_at: failed.isReplay ? failedAt : 'NULL',
    raw_body: bytes(failed.rawBody),
  }
  const columns = Object.keys(written).map((column) => `\`${column}\``)
  const replaced = [...Object.keys(OF_DELIVERY), 'raw_body'].map((column) => `${column} = VALUES(${column})`)
  return `
    INSERT INTO ${table} (${columns.join(', ')}) VALUES (${Object.values(written).join(', ')})
    ON DUPLICATE KEY UPDATE
      attempts = attempts + 1,
      last_at = GREATEST(last_at, VALUES(last_at)),
      state = IF(state = 'parked' OR ${isOver('attempts', 'last_at - first_at')}, 'parked', 'failing'),
      replays = replays + VALUES(replays),
      last_replayed_at = COALESCE(VALUES(last_replayed_at), last_replayed_at),
      ${replaced.join(', ')}`
}

export function isParked(table: string, key: string): string {
  return `SELECT state = 'parked' FROM ${table} WHERE \`key\` = ${bytes(key)}`
}

/** The same, locked until the end of the transaction. */
export function locking(table: string, key: string): string {
  return `${isParked(table, key)} FOR UPDATE`
}

export function getting(table: string, key: string): string {
  return `SELECT ${FAILURE} FROM ${table} WHERE \`key\` = ${bytes(key)}`
}

export function deleting(table: string, key: string): string {
  return `DELETE FROM ${table} WHERE \`key\` = ${bytes(key)}`
}

/** The keys first, from an index, so that only the rows of the page are read. */
export function listing(table: string, order: 'newest' | 'oldest', wanted: Wanted, limit: number): string {
  const direction = order === 'newest' ? 'DESC' : 'ASC'
  const sorted = (prefix: string): string =>
    `ORDER BY ${prefix}last_at ${direction}, ${prefix}\`key\` ${direction}`
  return `
    SELECT ${FAILURE} FROM ${table} JOIN (
      SELECT \`key\` AS page_key FROM ${table} WHERE ${conditions(wanted)} ${sorted('')} LIMIT ${whole(limit)}
    ) AS page ON \`key\` = page_key ${sorted('')}`
}

/** The latest failure of a group is looked up by its date. */
export function grouping(table: string, filter: CheckedFilter, limit: number): string {
  const where = conditions({ filter })
  const latest = `(
      SELECT \`key\` FROM ${table} AS one
      WHERE one.cause = found_cause AND one.last_at = found_last AND ${where} ORDER BY \`key\` DESC LIMIT 1
    )`
  return `
    SELECT ${values('found_cause', number('failures'), number('found_first'), number('found_last'), 'kind', 'code', 'message')}
    FROM (
      SELECT cause AS found_cause, COUNT(*) AS failures, MIN(first_at) AS found_first, MAX(last_at) AS found_last
      FROM ${table} WHERE ${where} GROUP BY cause ORDER BY MAX(last_at) DESC, cause LIMIT ${whole(limit)}
    ) AS found JOIN ${table} AS latest ON latest.\`key\` = ${latest}
    ORDER BY found_last DESC, found_cause`
}

export function counting(table: string, filter: CheckedFilter): string {
  return `SELECT COUNT(*) FROM ${table} WHERE ${conditions({ filter })}`
}

/** By the clock of the server, which differs from those of apps by less than the retention allows. */
export function pastFailures(retentionMs: number): { condition: string; by: string } {
  const nowMs = `TIMESTAMPDIFF(MICROSECOND, '1970-01-01', ${NOW}) DIV 1000`
  return { condition: `last_at <= ${nowMs} - ${whole(retentionMs)}`, by: 'last_at, `key`' }
}

/** A clock that is wrong must lose no failure. */
function dateOf(ms: number): string {
  return whole(Math.min(Math.max(Number.isNaN(ms) ? 0 : ms, -LAST_DATE), LAST_DATE))
}

/** The latest date of JavaScript. */
const LAST_DATE = 8.64e15
