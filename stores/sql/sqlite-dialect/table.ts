import { StoreError } from '../../../src/index.js'
import type { SqlType } from '../columns.js'
import type { LedgerTable, WriteValues } from '../ledger.js'
import type { Purged } from '../purge.js'
import type { Read } from '../reads.js'
import type { Row } from '../records.js'
import type { Value, Values } from '../statement.js'
import { unexpectedRows } from '../unexpected-rows.js'
import { COMPLETED, type Verdict, verdictIn } from '../verdict.js'
import type { UpdateName, UpsertName } from '../writes.js'
import type { Statement, Statements } from './statements.js'

/** The rows of a statement, as a client returns them. */
export type Rows = readonly unknown[]

/** A table of events in a SQLite that answers at once. */
export interface SyncTable {
  upsert(name: UpsertName, values: WriteValues): Verdict | undefined
  update(name: UpdateName, values: WriteValues): boolean
  find(key: string): Found | undefined
  forget(key: string): boolean
  read(read: Read): Row[]
  /** Deletes at most so many that are at least as old. */
  purge(limit: number, minAgeMs: number): Purged
  /** Writes as a delivery does, because nothing less finds a full disk, and takes it back. No event has this key. */
  tryWrite(): void
}

/** What is known of a row within its retention. */
export interface Found extends Verdict {
  /** How many failures and failed replays it has. */
  readonly seen: number
}

/** @param all runs one statement */
export function syncTable(
  name: string,
  { upserts, updates, find, forget, purge, read }: Statements,
  all: (statement: Statement, values: Values) => Rows,
): SyncTable {
  const self: SyncTable = {
    upsert(write, values) {
      // The usual end of a run by itself: it is a fifth cheaper, and leaves the index of the date alone.
      if (write === 'complete' && all(updates.complete, values).length > 0) return COMPLETED
      const written = all(upserts[write], values)
      return verdictAfter(name, values, written, written.length > 0 ? [] : all(find, values))
    },
    update: (write, values) => all(updates[write], values).length > 0,
    find: (key) => foundIn(all(find, { key, token: '' })),
    forget: (key) => all(forget, { key }).length > 0,
    read: (asked) => rowsIn(all(read(asked), asked.values), asked),
    purge: (limit, minAgeMs) => purgedIn(all(purge, { limit, age_ms: minAgeMs })),
    tryWrite() {
      self.upsert('claim', CHECK_VALUES)
      self.forget(CHECK_VALUES.key)
    },
  }
  return self
}

export const CHECK_VALUES: WriteValues = { key: '', token: '', lease_ms: 0, retain_ms: 0 }

/** The table for calls that each wait for their answer. */
export function ledgerTable(
  { upsert, update, find, forget, read }: SyncTable,
  write: <T>(step: () => T) => Promise<T>,
): LedgerTable {
  return {
    upsert: (name, values) => write(() => upsert(name, values)),
    update: (name, values) => write(() => update(name, values)),
    find: async (key) => find(key),
    forget: (key) => write(() => forget(key)),
    read: async (asked) => read(asked),
  }
}

/**
 * What the row is after an upsert.
 *
 * @param written the rows of the write; none if it changed nothing
 * @param found those of the look-up after it
 * @throws StoreError when there is no row, although nothing keeps the write from making one
 */
export function verdictAfter(name: string, values: Values, written: Rows, found: Rows): Verdict | undefined {
  const verdict = foundIn(written.length > 0 ? written : found)
  if (verdict === undefined && !values.seen) throw notWritten(name)
  return verdict
}

export function foundIn([row]: Rows): Found | undefined {
  if (row === undefined) return undefined
  const { verdict: number, seen = 0 } = row as { verdict?: unknown; seen?: unknown }
  const verdict = verdictIn(number)
  if (verdict === undefined) throw unexpectedRows()
  return { ...verdict, seen: Number(seen) }
}

export function purgedIn(rows: Rows): Purged {
  const parked = (rows as readonly { parked: unknown }[]).filter(({ parked }) => Number(parked) === 1)
  return { deleted: rows.length, parked: parked.length }
}

export function rowsIn(rows: Rows, { select }: Read): Row[] {
  return rows.map((row) =>
    select.map(({ type }, i) => valueIn((row as Readonly<Record<string, unknown>>)[`c${i}`], type)),
  )
}

/** A number may be a bigint, and bytes a list of numbers. */
function valueIn(value: unknown, type: SqlType): Row[number] {
  if (value === null) return null
  if (value === undefined) throw unexpectedRows()
  if (type === 'integer' || type === 'ms') return Number(value)
  return type === 'bytes' ? new Uint8Array(value === '' ? [] : (value as Uint8Array)) : String(value)
}

/** The values of a statement's parameters, in their order. */
export function parametersOf(
  { names }: Statement,
  values: Values,
): (string | number | ArrayBufferLike | null)[] {
  return names.map((name) => {
    const value: Value = values[name]
    // Of a view, some clients take the whole buffer.
    return value instanceof Uint8Array ? value.slice().buffer : (value ?? null)
  })
}

/** The error for a write that changed nothing, although there is no row that keeps it from that. */
function notWritten(name: string): StoreError {
  return new StoreError(
    'store_unavailable',
    `A row that was written to ${name} is not in it: does a trigger drop it?`,
  )
}
