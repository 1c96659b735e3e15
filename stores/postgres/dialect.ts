import { COLUMNS, type Column, FAILURE_COLUMNS, INDEXES, REQUIRED, type SqlType } from '../sql/columns.js'
import { EXPIRED } from '../sql/purge.js'
import type { Read } from '../sql/reads.js'
import { type CoreSql, type Fields, type Spelling, spell } from '../sql/statement.js'
import { verdictSql } from '../sql/verdict.js'
import {
  changedIfLive,
  insertedBy,
  type Meeting,
  UPDATES,
  UPSERTS,
  type UpdateName,
  type Upsert,
  type UpsertName,
} from '../sql/writes.js'

// The statements of Postgres: each write is atomic by itself, and waits for no handler.

/** The types of the columns. Text compares byte by byte where it is a key or a word of ours. */
const TYPES: Readonly<Record<SqlType, string>> = {
  key: 'text COLLATE "C"',
  token: 'text COLLATE "C"',
  word: 'text COLLATE "C"',
  text: 'text',
  message: 'text',
  integer: 'integer',
  ms: 'bigint',
  bytes: 'bytea',
}

export const EVENT_COLUMNS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(COLUMNS).map(([column, type], i) => [
    column,
    `${TYPES[type]}${i === 0 ? ' PRIMARY KEY' : REQUIRED.has(column as Column) ? ' NOT NULL' : ''}`,
  ]),
)

export const EVENT_INDEXES: Readonly<Record<string, string>> = Object.fromEntries(
  INDEXES.map(({ suffix, columns, isOfFailures }) => [
    suffix,
    `(${columns.join(', ')})${isOfFailures ? ' WHERE failed_at IS NOT NULL' : ''}`,
  ]),
)

/** The time of the statement: a condition that is evaluated several times must give the same result each time. */
const NOW = "(date_part('epoch', now()) * 1000)::bigint"

/** All parameters are text, which every client passes on as it is. */
function parameterOf(type: SqlType, place: string): string {
  const sqlType = TYPES[type].split(' ')[0]
  if (sqlType === 'text') return `${place}::text`
  return type === 'bytes' ? `decode(${place}::text, 'hex')` : `${place}::text::${sqlType}`
}

function parametersOf(fields: Fields): Spelling['parameter'] {
  const names = Object.keys(fields)
  return (name) => parameterOf(fields[name] as SqlType, `$${names.indexOf(name) + 1}`)
}

/** The row that would be inserted is as old as the statement, and no other expression for the time costs as little. */
const IN_CONFLICT = {
  now: 'excluded.received_at',
  live: 'true',
  stored: (column: string) => `stored.${column}`,
  given: (column: string) => `excluded.${column}`,
}
const PLAIN = { ...IN_CONFLICT, now: NOW, stored: (column: string) => column }

/**
 * Whether the transaction gets the lock of the event, which a claim shares with other claims, and an inbox has alone. It is of the table's oid,
 * because two schemas can have tables of one name. If two keys have one hash, one is merely in flight while the other runs.
 */
function lock(table: string, key: string, isAlone: boolean): string {
  const name = `pg_try_advisory_xact_lock${isAlone ? '' : '_shared'}`
  return `${name}(hashtextextended(${key}, '${table.replaceAll("'", "''")}'::regclass::oid::bigint))`
}

/** Whether a write of a new row may meet an inbox: see `Meeting`. */
function mayMeet(table: string, meeting: Meeting, key: string, token: string): string {
  const isLocked = lock(table, key, meeting === 'opens')
  if (meeting !== 'holds') return isLocked
  // The lock first: the row is looked for only when it is not free.
  return `CASE WHEN ${isLocked} THEN true ELSE EXISTS (
      SELECT FROM ${table} WHERE event_key = ${key} AND token = ${token}
        AND (state IN ('handled', 'discarded') OR state = 'running' AND lease_until > ${NOW})
    ) END`
}

/**
 * It always updates, so that it always returns the row: DO UPDATE … WHERE returns none for a row that it leaves as it is, and a second
 * statement that reads that row would be a race. A row past its retention is left as it is too, and deleted by the next statement: the columns
 * that it alone needs reset would make each claim half as expensive again.
 */
function onConflict(upsert: Upsert, parameter: Spelling['parameter']): string {
  const spelled = (text: CoreSql): string => spell(text, { ...IN_CONFLICT, parameter })
  const set = changedIfLive(upsert)
  const values = set.map(
    ([column, value]) => `CASE WHEN accepts THEN ${spelled(value)} ELSE stored.${column} END`,
  )
  return `ON CONFLICT (event_key) DO UPDATE SET (${set.map(([column]) => column).join(', ')}) = (
      SELECT ${values.join(', ')}
      FROM (SELECT stored.expires_at > excluded.received_at AND ${spelled(`(${upsert.acceptsIfLive})`)} AS accepts OFFSET 0) AS decision
    )`
}

/** The verdict on a row past its retention. */
export const PAST = -1

function verdictOf(token: string): string {
  const verdict = spell(
    verdictSql((column) => column, ':token'),
    { ...PLAIN, parameter: () => token },
  )
  return `CASE WHEN expires_at > ${NOW} THEN ${verdict} ELSE ${PAST} END`
}

function mayInsert(table: string, { inserts }: Upsert, parameter: Spelling['parameter']): string {
  if (inserts === undefined) return ''
  const isKnown = `EXISTS (SELECT FROM ${table} WHERE event_key = ${parameter('key')} AND expires_at > ${NOW})`
  return ` AND (${spell(inserts, { ...PLAIN, parameter })} OR ${isKnown})`
}

/** For one event. It returns the verdict, and then the values of `more`; nothing if an inbox has the event. */
function upsertOne(table: string, upsert: Upsert, more = ''): string {
  const parameter = parametersOf(upsert.fields)
  const inserted = insertedBy(upsert)
  const token = parameter('token')
  return `
    INSERT INTO ${table} AS stored (${inserted.map(([column]) => column).join(', ')})
    SELECT ${inserted.map(([, value]) => spell(value, { ...PLAIN, parameter })).join(', ')}
    WHERE ${mayMeet(table, upsert.meeting, parameter('key'), token)}${mayInsert(table, upsert, parameter)}
    ${onConflict(upsert, parameter)}
    RETURNING ${verdictOf(token)} AS verdict${more}`
}

/**
 * For several: a parameter is an array with an element for each. It returns rows of the number of an event, from 1, and the values of `more`.
 * Not a CTE, which costs half as much again; and the arrays by a sub-select, because a plan that depends on their length is made again for
 * each statement.
 */
function upsertMany(
  table: string,
  upsert: Upsert,
  conflict: string,
  more: (number: string) => string = () => '',
): string {
  const names = Object.keys(upsert.fields)
  const arrays = Object.values(upsert.fields).map(
    (type, i) => `(SELECT $${i + 1}::${TYPES[type as SqlType].split(' ')[0]}[])`,
  )
  const parameter = (name: string): string => `asked.${name}`
  const inserted = insertedBy(upsert)
  const number = 'array_position($1::text[] COLLATE "C", event_key)'
  return `
    INSERT INTO ${table} AS stored (${inserted.map(([column]) => column).join(', ')})
    SELECT ${inserted.map(([, value]) => spell(value, { ...PLAIN, parameter })).join(', ')}
    FROM unnest(${arrays.join(', ')}) AS asked (${names.join(', ')})
    WHERE ${mayMeet(table, upsert.meeting, 'asked.key', 'asked.token')}
    ${conflict}
    RETURNING ${number} AS number${more(number)}`
}

function claimMany(table: string): string {
  const conflict = onConflict(UPSERTS.claim, String)
  return upsertMany(
    table,
    UPSERTS.claim,
    conflict,
    (number) => `, ${verdictOf(`($2::text[])[${number}]`)} AS verdict`,
  )
}

/** It returns no row for a completion that is refused, or of a row past its retention. */
function completeMany(table: string): string {
  const spelled = (text: CoreSql): string =>
    spell(text, { ...IN_CONFLICT, parameter: (name) => `excluded.${name}` })
  // What is assigned is what a new row would have, or a constant.
  const set = UPDATES.complete.set.map(
    ([column, value]) => `${column} = ${column in UPSERTS.complete.row ? `excluded.${column}` : value}`,
  )
  const conflict = `ON CONFLICT (event_key) DO UPDATE SET ${set.join(', ')} WHERE ${spelled(UPDATES.complete.accepts)}`
  return upsertMany(table, UPSERTS.complete, conflict)
}

/** It returns a row if it has changed one. */
function updateOne(table: string, name: UpdateName): string {
  const { fields, accepts, set, meeting } = UPDATES[name]
  const spelling = { ...PLAIN, parameter: parametersOf(fields) }
  const isFree = lock(table, 'event_key', false)
  const mayMeetIt = meeting === 'holds' ? `(state = 'running' AND lease_until > ${NOW} OR ${isFree})` : isFree
  return `
    UPDATE ${table} SET ${set.map(([column, value]) => `${column} = ${spell(value, spelling)}`).join(', ')}
    WHERE event_key = ${spelling.parameter('key')} AND ${spell(accepts, spelling)} AND ${mayMeetIt}
    RETURNING 1 AS changed`
}

/** A limit of the transaction, in milliseconds. A limit of the server's own wins. */
function limit(name: string, ms: string): string {
  return `set_config('${name}', CASE current_setting('${name}') WHEN '0' THEN ${ms} ELSE current_setting('${name}') END, true)`
}

/** The server's id of a transaction, and its limits: when it is idle, and in all. */
function opened(idle: string, run: string): string {
  return `txid_current()::text AS id, ${limit('idle_in_transaction_session_timeout', idle)} AS idle,
      CASE WHEN current_setting('server_version_num')::int >= 170000
        THEN ${limit('transaction_timeout', run)} ELSE ${limit('statement_timeout', run)}
      END AS run`
}

/** The same for an event that has not failed before: to clear all that a failure has costs the server a sixth of the statement. */
const openNew: Upsert = {
  ...UPSERTS.open,
  acceptsIfLive: `(${UPSERTS.open.acceptsIfLive}) AND stored.failure IS NULL`,
  set: UPSERTS.open.set.filter(([column]) => !FAILURE_COLUMNS.includes(column)),
}

function open(table: string, upsert: Upsert): string {
  const count = Object.keys(upsert.fields).length
  return upsertOne(table, upsert, `, ${opened(`$${count + 1}::text`, `$${count + 2}::text`)}`)
}

export interface Statements {
  /** For one event: a parameter for each field. */
  readonly upserts: Readonly<Record<UpsertName, string>>
  readonly updates: Readonly<Record<UpdateName, string>>
  /**
   * For several events, each of another key. One alone has a statement of its own, because the arrays cost the server a third of a claim, and an
   * INSERT half of a completion.
   */
  readonly claimMany: string
  readonly completeMany: string
  /** What `upserts.open` does, unless the event has failed before: the row is then left as it is. */
  readonly openNew: string
  /** Opens a plain transaction: the same columns, without an event. */
  readonly openPlain: string
  readonly find: string
  readonly forget: string
  /** It deletes the row of an event if that is past its retention. */
  readonly forgetPast: string
  /** It returns how many it has deleted, and how many of them were parked. */
  readonly purge: string
}

const PURGE_FIELDS = { age_ms: 'ms', limit: 'ms' } as const

/** @param durable SQL that has the commit wait for the disk */
export function statementsFor(table: string, durable: string): Statements {
  const upserts = Object.keys(UPSERTS) as UpsertName[]
  const updates = Object.keys(UPDATES) as UpdateName[]
  return {
    upserts: {
      ...byName(upserts, (name) => upsertOne(table, UPSERTS[name])),
      settle: upsertOne(table, UPSERTS.settle, `, ${durable} AS durable`),
      open: open(table, UPSERTS.open),
      openReplay: open(table, UPSERTS.openReplay),
    },
    openNew: open(table, openNew),
    updates: byName(updates, (name) => updateOne(table, name)),
    claimMany: claimMany(table),
    completeMany: completeMany(table),
    openPlain: `SELECT 0 AS verdict, ${opened('$1::text', '$2::text')}`,
    find: `SELECT ${verdictOf('NULL::text')} AS verdict FROM ${table} WHERE event_key = $1::text AND expires_at > ${NOW}`,
    forget: `DELETE FROM ${table} WHERE event_key = $1::text AND ${lock(table, 'event_key', false)} RETURNING 1 AS gone`,
    forgetPast: `DELETE FROM ${table} WHERE event_key = $1::text AND expires_at <= ${NOW} AND ${lock(table, 'event_key', false)} RETURNING 1 AS gone`,
    // Locked first: a plain DELETE … IN (SELECT …) that waited for a claim would delete the claimed row.
    purge: `
      WITH expired AS (
        SELECT event_key FROM ${table}
        WHERE ${spell(EXPIRED, { ...PLAIN, parameter: parametersOf(PURGE_FIELDS) })} FOR UPDATE SKIP LOCKED
      ), gone AS (
        DELETE FROM ${table} AS stored USING expired WHERE stored.event_key = expired.event_key RETURNING failure
      )
      SELECT count(*)::integer AS deleted, (count(*) FILTER (WHERE failure = 'parked'))::integer AS parked FROM gone`,
  }
}

function byName<Name extends string>(
  names: readonly Name[],
  make: (name: Name) => string,
): Record<Name, string> {
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Record<Name, string>
}

/**
 * Selects JSON, and the bytes beside it, as hexadecimal digits after an x: clients can be set to change text, its letters, its spaces, its
 * numbers.
 */
export function reading(table: string, { select, from, fields }: Read): string {
  const parameter = (name: string): string => (name === 'table' ? table : parametersOf(fields)(name))
  const spelled = (text: CoreSql): string => spell(text, { ...PLAIN, parameter })
  const json = select.filter(({ type }) => type !== 'bytes').map(({ sql }) => spelled(sql))
  const bytes = select.find(({ type }) => type === 'bytes')
  const columns = [
    `'x' || encode(convert_to(json_build_array(${json.join(', ')})::text, 'UTF8'), 'hex') AS json`,
    ...(bytes === undefined ? [] : [`'x' || encode(${spelled(bytes.sql)}, 'hex') AS bytes`]),
  ]
  return `SELECT ${columns.join(', ')} ${spelled(from)}`
}
