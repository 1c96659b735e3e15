import type { WriteValues } from '../sql/ledger.js'
import type { Read } from '../sql/reads.js'
import { type CoreSql, type Spelling, spell } from '../sql/statement.js'
import { type Verdict, verdictIn, verdictSql } from '../sql/verdict.js'
import { insertedBy, UPDATES, UPSERTS, type UpdateName, type Upsert, type UpsertName } from '../sql/writes.js'
import { isSlotOf } from './locks.js'
import { bytes, literal, NOW } from './sql.js'

/*
 * `LAST_INSERT_ID(expression)` is a register of the session: an assignment sets it, those after it read it, and its last value comes back with
 * the report of the write. So a write decides, writes and answers in one statement, without a column for the answer. Assignments are made
 * from left to right, and see what those before them have assigned.
 */
const REGISTER = 'LAST_INSERT_ID'
const IS_ACCEPTED = `${REGISTER}() & 1`
/**
 * In a short form: the row is past its retention, or has a failure to clear, so the long one is to be sent; in a long one: it is past its
 * retention, and stays so. In one of several rows: one was refused.
 */
const IS_LEFT = `${REGISTER}() & 2`
/** Whether the row was within its retention. */
const IS_LIVE = `${REGISTER}() & 4`

/** Changes what is not running, whose lease nobody reads: InnoDB shows a commit before it has flushed it, and flushes none that has changed nothing. */
const TOUCH = "lease_until = IF(state = 'running', lease_until, 1 - lease_until)"

/** MySQL and MariaDB have no common words for it. Those that only yield to an inbox do not disturb each other. */
const SHARED = '/*!80001 FOR SHARE *//*M! LOCK IN SHARE MODE */'

const FACTS_ARE_KNOWN = 'namespace <=> VALUES(namespace)'
const HAS_NO_FAILURE = 'failure IS NULL'

/**
 * The writes that have a short form, for which the server needs half the time: it leaves out what clears a failure, and what keeps a column as it
 * is. It writes a row within its retention if this holds. With it, what it leaves in the register if the row is new.
 */
const SHORT: Readonly<Partial<Record<UpsertName, { readonly suffices: string; readonly whenNew: number }>>> =
  {
    claim: { suffices: FACTS_ARE_KNOWN, whenNew: 2 + 36 },
    complete: { suffices: HAS_NO_FAILURE, whenNew: 2 + 38 },
    open: { suffices: `${FACTS_ARE_KNOWN} AND ${HAS_NO_FAILURE}`, whenNew: 2 + 38 },
  }

/** What a write has left in the register. */
export type Written =
  /** There was no slot, or no row and none to write. */
  | 'nothing'
  /** The long form is to be sent. */
  | 'left'
  /** `undefined` if it is none. */
  | { readonly verdict: Verdict | undefined }

export function writtenIn(register: number): Written {
  return register === 0 ? 'nothing' : register === 1 ? 'left' : { verdict: verdictIn(register - 2) }
}

/** Whether a write of several rows was accepted for all of them, by what it has left there. */
export function areAccepted(register: number): boolean {
  return (register & 2) === 0
}

export interface UpsertForm {
  /** The table of locks, of which the row of the event is locked without waiting; if it is not free, nothing is written. */
  readonly locks?: string | undefined
  /** Default false. */
  readonly isLong?: boolean
}

/** A write of one event. See `Written`. */
export function upserting(
  table: string,
  name: UpsertName,
  values: WriteValues,
  { locks, isLong = false }: UpsertForm = {},
): string {
  const isShort = !isLong && name in SHORT
  const form = `${name} ${isShort} ${locks !== undefined}`
  return filled(form, () => upsertOf(name, isShort, locks !== undefined), values, { table, locks })
}

function upsertOf(name: UpsertName, isShort: boolean, isSlotted: boolean): CoreSql {
  const upsert: Upsert = UPSERTS[name]
  const short = isShort ? SHORT[name] : undefined
  // In a list of values, a column can be that of one before it, which is less to parse.
  const cells = cellsOf(upsert, isSlotted ? NOW : 'received_at')
  const row = rowOf(cells, short?.whenNew ?? `IF(${insertsOf(upsert)}, 2 + ${verdictOfNew(cells)}, 0)`)
  const lock = upsert.meeting === 'opens' ? 'FOR UPDATE' : SHARED
  const source = isSlotted
    ? `SELECT ${row} FROM :locks WHERE ${isSlotOf(':key')} ${lock} SKIP LOCKED`
    : `VALUES (${row})`
  const set = (short === undefined ? upsert.set : upsert.set.filter(isChanged)).map(
    // Not that of the row, which may be past it from the start.
    ([column, value]) => [column, value.replaceAll('given.expires_at', upsert.row.expires_at ?? '')] as const,
  )
  const accepts = spelled(upsert.accepts)
  const isLive = `expires_at > ${GIVEN_NOW}`
  const answer = `2 + ${verdictOf((column) => column, 'VALUES(token)', GIVEN_NOW)}`
  const update = updatingIfThere([
    short === undefined
      ? leaving(`IF(${accepts}, IF(${isLive}, 5, 1), IF(${isLive}, 0, 2))`)
      : leaving(`IF(${accepts}, IF(${isLive} AND ${short.suffices}, 5, 2), 0)`),
    ...assigning(set),
    TOUCH,
    leaving(`IF(${IS_LEFT}, ${short === undefined ? 0 : 1}, ${answer})`),
  ])
  return `INSERT INTO :table (${Object.keys(cells).join(', ')}) ${source} ${update}`
}

/** Whether a row that is not there is written. Otherwise it is past its retention from the start, and so counts as none. */
function insertsOf({ inserts = 'TRUE' }: Upsert): CoreSql {
  return spell(inserts, spellingOf(NOW))
}

/** Its token is that of the request, so that its lease is not looked at. */
function verdictOfNew(cells: Cells): CoreSql {
  const cellOf = (column: string): string => (column === 'lease_until' ? '0' : (cells[column] ?? 'NULL'))
  return verdictOf(cellOf, cellOf('token'), '0')
}

/** Whether an assignment of a write changes a row within its retention whose facts are known, and that has no failure to clear. */
function isChanged([column, value]: Upsert['set'][number]): boolean {
  const kept = [`stored.${column}`, `coalesce(stored.${column}, given.${column})`]
  return value !== 'NULL' && !kept.some((one) => value.startsWith(`CASE WHEN :live THEN ${one} ELSE `))
}

/** The same of several events, each of another key and in the order of keys. See `areAccepted`. */
export function upsertingMany(
  table: string,
  name: 'claim' | 'complete',
  requests: readonly WriteValues[],
): string {
  const upsert: Upsert = UPSERTS[name]
  const update = (): CoreSql =>
    updatingIfThere([
      leaving(`${IS_LEFT} | IF(${spelled(upsert.accepts)}, IF(expires_at > ${GIVEN_NOW}, 5, 1), 2)`),
      ...assigning(upsert.set),
      TOUCH,
    ])
  return `${insertingMany(table, name, requests)} ${filled(`many of ${name}`, update, { key: '' })}`
}

/** It fails for all if one of them is there. */
export function insertingMany(
  table: string,
  name: 'claim' | 'complete',
  requests: readonly WriteValues[],
): string {
  const cells = cellsOf(UPSERTS[name], 'received_at')
  // The first one resets the register.
  const rows = requests.map((values, index) =>
    filled(`row of ${name} ${index === 0}`, () => `(${rowOf(cells, index === 0 ? 0 : undefined)})`, values),
  )
  return `INSERT INTO ${table} (${Object.keys(cells).join(', ')}) VALUES ${rows.join(', ')}`
}

/** Spells a statement once, and puts the values into it at each call. */
function filled(
  form: string,
  make: () => CoreSql,
  values: WriteValues,
  names: Readonly<Record<string, string | undefined>> = {},
): string {
  const parts = forms.get(form) ?? make().split(/:(\w+)/)
  forms.set(form, parts)
  return parts
    .map((part, index) => (index % 2 === 0 ? part : (names[part] ?? literal(values[part]))))
    .join('')
}

const forms = new Map<string, readonly string[]>()

type Cells = Readonly<Partial<Record<string, CoreSql>>>

/** The values of the columns of a new row; that of the time first. */
function cellsOf(upsert: Upsert, now: string): Cells {
  const others = insertedBy(upsert)
    .filter(([column]) => column !== 'received_at')
    .map(([column, value]) => [column, spell(value, spellingOf(now))])
  const cells: Cells = { received_at: NOW, ...Object.fromEntries(others) }
  if (upsert.inserts === undefined) return cells
  return { ...cells, expires_at: `IF(${insertsOf(upsert)}, ${cells.expires_at}, 0)` }
}

/** @param register the value that is left in it if the row is new */
function rowOf(cells: Cells, register: string | number | undefined): CoreSql {
  const set = register === undefined ? '' : ` + 0 * ${REGISTER}(${register})`
  return Object.entries(cells)
    .map(([column, cell]) => (column === 'attempt' ? `${cell}${set}` : cell))
    .join(', ')
}

function updatingIfThere(assignments: readonly CoreSql[]): CoreSql {
  return `ON DUPLICATE KEY UPDATE ${assignments.join(', ')}`
}

function assigning(set: Upsert['set']): CoreSql[] {
  return set.map(([column, value]) => `${column} = IF(${IS_ACCEPTED}, ${spelled(value)}, ${column})`)
}

function leaving(value: CoreSql): CoreSql {
  return `attempt = attempt + 0 * ${REGISTER}(${value})`
}

/** That of the row that would be inserted, which is the time. */
const GIVEN_NOW = 'VALUES(received_at)'

function spelled(sql: CoreSql): CoreSql {
  return spell(sql, spellingOf(GIVEN_NOW))
}

/** The parameters stay. */
function spellingOf(now: string): Spelling {
  return {
    parameter: (name) => `:${name}`,
    now,
    live: IS_LIVE,
    stored: (column) => column,
    given: (column) => `VALUES(${column})`,
  }
}

const VERDICT = verdictSql((column) => `stored.${column}`, 'given.token')

function verdictOf(column: (name: string) => string, token: string, now: string): CoreSql {
  return VERDICT.replace(/stored\.(\w+)/g, (_, name: string) => column(name))
    .replaceAll('given.token', token)
    .replaceAll(':now', now)
}

/** A change of a row: it leaves 1 in the register if there was one to change. */
export function updating(table: string, name: UpdateName, values: WriteValues): string {
  const change = (): CoreSql => {
    const set = UPDATES[name].set.map(([column, value]) => `${column} = ${spell(value, spellingOf(NOW))}`)
    return `UPDATE :table SET ${leaving('1')}, ${set.join(', ')} WHERE ${changeable(name)}`
  }
  return filled(name, change, values, { table })
}

/** The same in two steps, of which the first waits for no transaction: it returns a row if there is one to change. */
export function lockingFor(table: string, name: UpdateName, values: WriteValues): string {
  const lock = (): CoreSql => `SELECT 1 FROM :table WHERE ${changeable(name)} FOR UPDATE SKIP LOCKED`
  return filled(`lock ${name}`, lock, values, { table })
}

function changeable(name: UpdateName): CoreSql {
  return `event_key = :key AND ${spell(UPDATES[name].accepts, spellingOf(NOW))}`
}

/** Returns the index of each event that is within its retention, and its verdict. A token that is not given is nobody's. */
export function finding(
  table: string,
  requests: readonly { readonly key: string; readonly token?: unknown }[],
): string {
  const asked = requests.map(
    ({ key, token }, index) =>
      `SELECT ${bytes(key)} AS asked_key, ${literal(token as string | undefined)} AS asked_token, ${index} AS asked_index`,
  )
  return `SELECT asked_index, ${verdictOf((column) => column, 'asked_token', NOW)}
    FROM (${asked.join(' UNION ALL ')}) AS asked STRAIGHT_JOIN ${table} ON event_key = asked_key WHERE expires_at > ${NOW}`
}

/** A write to handled events that were read: its commit is on disk only after theirs. */
export function touching(table: string, keys: readonly string[]): string {
  return `UPDATE ${table} FORCE INDEX (PRIMARY) SET ${TOUCH} WHERE event_key IN (${keys.map(bytes).join(', ')}) AND state IN ('handled', 'discarded')`
}

export function reading(table: string, { select, from, fields, values }: Read): string {
  const spelled = (sql: CoreSql): string =>
    sql.replace(/:(\w+)/g, (_, name: string) =>
      name === 'table' ? table : name === 'now' ? NOW : literal(name in fields ? values[name] : undefined),
    )
  // In digits: text that no client converts.
  const list = select.map(({ sql, type }) =>
    type === 'integer' || type === 'ms' ? spelled(sql) : `CONCAT('x', HEX(${spelled(sql)}))`,
  )
  return `SELECT ${list.join(', ')} ${spelled(from)}`
}
