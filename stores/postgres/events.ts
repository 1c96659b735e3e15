import type { BurstTable } from '../sql/calls.js'
import type { Opening } from '../sql/inbox.js'
import { bytesIn, hexOf } from '../sql/kept-text.js'
import type { WriteValues } from '../sql/ledger.js'
import type { Purged } from '../sql/purge.js'
import type { Row as RecordRow } from '../sql/records.js'
import type { Fields, Values } from '../sql/statement.js'
import { unexpectedRows } from '../sql/unexpected-rows.js'
import { COMPLETED, type Verdict, verdictIn } from '../sql/verdict.js'
import { UPDATES, UPSERTS, type UpdateName, type UpsertName } from '../sql/writes.js'
import { isConflict } from './advice.js'
import { EVENT_COLUMNS, EVENT_INDEXES, PAST, reading, type Statements, statementsFor } from './dialect.js'
import type { Ask, Row } from './drivers/driver.js'
import { DURABLE } from './drivers/ending.js'
import { type Table, tableOf } from './table.js'
import type { TableLocation } from './table-location.js'

/** The table of the events of a store or an inbox. */
export interface EventsTable extends Table {
  /**
   * Its writes and reads.
   *
   * @param ask sends one statement, in a transaction of its own unless it is in one. It is asked again after a conflict
   */
  through(ask: Ask): BurstTable & { purge(limit: number, minAgeMs: number): Promise<Purged> }
  /** Opens the transaction of a handler, or a plain one. `undefined`: another inbox has the event. */
  open(
    ask: Ask,
    opening: Opening | undefined,
    limits: readonly [idleMs: number, runMs: number],
  ): Promise<Opened>
}

interface Opened {
  /** `undefined`: another inbox has the event. */
  readonly verdict: Verdict | undefined
  /** The server's of the transaction, to ask after a lost COMMIT. */
  readonly id: string
}

export function eventsTable(location: TableLocation, migrate: string): EventsTable {
  const table = tableOf({ location, columns: EVENT_COLUMNS, indexes: EVENT_INDEXES, migrate })
  const statements = table.byName((name) => statementsFor(name, DURABLE))

  function textOf(value: Values[string]): string | null {
    if (typeof value === 'string' && location.isUtf8) return value
    if (value === undefined || value === null) return null
    if (value instanceof Uint8Array) return hexOf(value)
    return location.isUtf8 ? String(value) : asciiOf(String(value))
  }

  const parametersOf = (fields: Fields, values: Values): (string | null)[] =>
    Object.keys(fields).map((name) => textOf(values[name]))

  function through(send: Ask): ReturnType<EventsTable['through']> {
    /** The statement is made once the table is found. */
    const ask = (make: (known: Statements) => [string, readonly unknown[]]): Promise<readonly Row[]> =>
      withoutConflicts(async () => {
        await table.find(send)
        return send(...make(statements()))
      }).catch((error) => {
        throw table.unavailable(error)
      })

    /** Those without a verdict yet, which are few, follow one by one. */
    async function upsertMany(
      name: 'claim' | 'complete',
      requests: readonly WriteValues[],
    ): Promise<readonly (Verdict | undefined)[]> {
      const isClaim = name === 'claim'
      const names = Object.keys(UPSERTS[name].fields)
      const rows = await ask((known) => [
        known[isClaim ? 'claimMany' : 'completeMany'],
        names.map((field) => arrayLiteral(requests, (values) => textOf(values[field]))),
      ])
      const verdicts = new Array<Verdict | undefined>(requests.length).fill(undefined)
      const left = isClaim ? new Set<number>() : new Set(requests.keys())
      for (const row of rows) {
        // By position, because clients can rename columns.
        const [number, value] = Object.values(row)
        const index = numberIn(number) - 1
        if (!(index in verdicts) || verdicts[index] !== undefined) throw unexpectedRows()
        if (isClaim && isPast(value)) left.add(index)
        else verdicts[index] = isClaim ? readVerdict(value) : COMPLETED
        if (!isClaim) left.delete(index)
      }
      for (const index of left) {
        const request = requests[index] as WriteValues
        verdicts[index] = isClaim ? await upsertAgain(name, request) : await upsertOne(name, request)
      }
      return verdicts
    }

    async function upsertOne(
      name: UpsertName,
      values: WriteValues,
      isAgain = false,
    ): Promise<Verdict | undefined> {
      // All but a completion of a row that is absent, past its retention, or another delivery's.
      if (name === 'complete' && (await update('complete', values))) return COMPLETED
      const [row] = await ask(({ upserts }) => [upserts[name], parametersOf(UPSERTS[name].fields, values)])
      if (row === undefined) return undefined
      const [value] = Object.values(row)
      return isPast(value) && !isAgain ? upsertAgain(name, values) : readVerdict(value)
    }

    async function upsertAgain(name: UpsertName, values: WriteValues): Promise<Verdict | undefined> {
      await ask(({ forgetPast }) => [forgetPast, [values.key]])
      return upsertOne(name, values, true)
    }

    async function update(name: UpdateName, values: WriteValues): Promise<boolean> {
      const changed = await ask(({ updates }) => [updates[name], parametersOf(UPDATES[name].fields, values)])
      return changed.length > 0
    }

    return {
      upsert: async (name, requests) => {
        if (requests.length > 1 && (name === 'claim' || name === 'complete'))
          return upsertMany(name, requests)
        return [await upsertOne(name, requests[0] as WriteValues)]
      },
      update,
      async find(key) {
        const [row] = await ask(({ find }) => [find, [key]])
        return row && readVerdict(Object.values(row)[0])
      },
      async forget(key) {
        return (await ask(({ forget }) => [forget, [key]])).length > 0
      },
      async read(read) {
        const rows = await ask(() => [reading(table.name, read), parametersOf(read.fields, read.values)])
        return rows.map((row) => {
          const [json, ...bytes] = Object.values(row)
          return [
            ...jsonIn(json).map((value) =>
              typeof value === 'string' && !location.isUtf8 ? String(JSON.parse(`"${value}"`)) : value,
            ),
            ...bytes.map((value) => (value === null ? null : bytesIn(value))),
          ]
        })
      },
      async purge(limit, minAgeMs) {
        const [row] = await ask((known) => [known.purge, [String(minAgeMs), String(limit)]])
        const [deleted, parked] = Object.values(row ?? {}).map(numberIn)
        if (deleted === undefined || parked === undefined) throw unexpectedRows()
        return { deleted, parked }
      },
    }
  }

  return {
    ...table,
    get name() {
      return table.name
    },
    through,
    open,
  }

  async function open(
    ask: Ask,
    opening: Opening | undefined,
    limitsMs: readonly number[],
    isAgain = false,
  ): Promise<Opened> {
    // Also for a plain one: recordIfNewest may follow, when the handler has changed the search_path.
    await table.find(ask)
    const limits = limitsMs.map(String)
    const { openPlain, openNew, upserts, forgetPast } = statements()
    const isFirst = opening?.name === 'open' && !isAgain
    const [row] =
      opening === undefined
        ? await ask(openPlain, limits)
        : await ask(isFirst ? openNew : upserts[opening.name], [
            ...parametersOf(UPSERTS[opening.name].fields, opening.values),
            ...limits,
          ])
    if (row === undefined) return { verdict: undefined, id: '' }
    const [verdict, id] = Object.values(row)
    if (opening !== undefined && isPast(verdict) && !isAgain) {
      await ask(forgetPast, [opening.values.key])
      return open(ask, opening, limitsMs, true)
    }
    // A client may turn text that is a number into one.
    if (!/^\d+$/.test(String(id))) throw unexpectedRows()
    const found = readVerdict(verdict)
    if (isFirst && found.failure === 'failing') return open(ask, opening, limitsMs, true)
    return { verdict: found, id: String(id) }
  }
}

/** How often a statement is sent again: above READ COMMITTED, it may meet another that has changed its row. */
const MOST_CONFLICTS = 3

async function withoutConflicts<T>(send: () => Promise<T>): Promise<T> {
  for (let count = 1; ; count++) {
    try {
      return await send()
    } catch (error) {
      if (count > MOST_CONFLICTS || !isConflict(error)) throw error
    }
  }
}

function isPast(verdict: unknown): boolean {
  return Number(verdict) === PAST
}

function readVerdict(value: unknown): Verdict {
  const verdict = verdictIn(value)
  if (verdict === undefined) throw unexpectedRows()
  return verdict
}

/** Clients can be set to return numbers as text. */
function numberIn(value: unknown): number {
  const number = value === null || value === '' ? Number.NaN : Number(value)
  if (!Number.isSafeInteger(number)) throw unexpectedRows()
  return number
}

function jsonIn(value: unknown): RecordRow {
  return JSON.parse(UTF8.decode(bytesIn(value))) as RecordRow
}

const UTF8 = new TextDecoder()

/** An array as a literal of Postgres: clients convert arrays of their own in different ways. */
function arrayLiteral<T>(items: readonly T[], textOf: (item: T) => string | null): string {
  let literal = ''
  for (const item of items) {
    const text = textOf(item)
    const element = text === null ? 'NULL' : `"${/["\\]/.test(text) ? text.replace(/["\\]/g, '\\$&') : text}"`
    literal += literal === '' ? element : `,${element}`
  }
  return `{${literal}}`
}

/** As JSON escapes it: for a database in an encoding that lacks some characters. */
function asciiOf(text: string): string {
  return JSON.stringify(text)
    .slice(1, -1)
    .replace(/[^\x20-\x7e]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
