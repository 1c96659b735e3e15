import type { BurstTable } from '../sql/calls.js'
import { COLUMN_NAMES, COLUMNS, INDEXES, REQUIRED } from '../sql/columns.js'
import { bytesIn } from '../sql/kept-text.js'
import type { WriteValues } from '../sql/ledger.js'
import { EXPIRED, type Purged } from '../sql/purge.js'
import type { Read } from '../sql/reads.js'
import { spell } from '../sql/statement.js'
import { unexpectedRows } from '../sql/unexpected-rows.js'
import { isFinal, type Verdict, verdictIn } from '../sql/verdict.js'
import { UPDATES, UPSERTS, type UpdateName, type UpsertName } from '../sql/writes.js'
import { isDuplicate, isForbidden, isWrongServer } from './advice.js'
import { retryConflicts } from './conflicts.js'
import type { Database } from './database.js'
import { type Answer, type Ask, CHECK_MARK, type CheckedDriver, MARK } from './drivers/driver.js'
import { checkSlots } from './locks.js'
import { literal, NOW, TYPES, whole } from './sql.js'
import {
  areAccepted,
  finding,
  insertingMany,
  lockingFor,
  reading,
  touching,
  updating,
  upserting,
  upsertingMany,
  writtenIn,
} from './statements.js'
import { type Table, tableOf, textIn } from './table.js'

/**
 * The table of the events. MySQL has no indexes of some rows alone, so each event is in those of failures too: measured, that is some 3 % of the
 * server's time for a claim.
 */
export function eventsTable(database: Database, given: string, migrate: string): Table {
  return tableOf({
    database,
    given,
    columns: Object.fromEntries(
      COLUMN_NAMES.map((column) => [
        column,
        `${TYPES[COLUMNS[column]]}${REQUIRED.has(column) ? ' NOT NULL' : ''}`,
      ]),
    ),
    indexes: Object.fromEntries(
      INDEXES.map(({ suffix, columns }) => [suffix, columns.join(', ')] as const)
        // Without indexes of some rows alone, one that begins with another does the work of both.
        .filter(([, on], _, all) => !all.some(([, other]) => other !== on && other.startsWith(`${on}, `)))
        .map(([suffix, on]) => [suffix, `(${on})`]),
    ),
    migrate,
  })
}

const OWN = { isOwn: true, failure: undefined, attempt: 1, leftMs: 0 } as const
const CLAIMED: Verdict = { ...OWN, state: 'running' }
const COMPLETED: Verdict = { ...OWN, state: 'handled' }

/** What a check writes, and does not keep. */
const NOBODYS = {
  ...{ token: 'check', lease_ms: 1, retain_ms: 1, namespace: 'check', kind: 'check', seen: 0, is_replay: 0 },
  ...{ cause: 'check', code: 'check', message: 'check', signed_at: 0, secret_index: 0 },
  raw_body: new Uint8Array(1),
}

export interface LedgerParts {
  readonly driver: CheckedDriver<unknown, unknown>
  readonly events: Table
  /** That of the locks, if an inbox is on the table of the events. */
  readonly locks: Table | undefined
  /** Of an inbox: how long its transactions may be idle. */
  readonly idleMs?: number
  /** Resolves when the names of the tables are known. */
  ready(): Promise<void>
  /** Sends a write, and resolves to what it has left in the register. */
  write(statement: string): Promise<number>
}

/** A request for a verdict; without a token it is nobody's. */
type Asked = { readonly key: string; readonly token?: unknown }

export interface MysqlLedger extends BurstTable {
  purge(limit: number, minAgeMs: number): Promise<Purged>
  /** Sends the statements of a delivery, for an event that nobody has, and keeps nothing of it. */
  check(): Promise<void>
}

export function ledgerTable({ driver, events, locks, idleMs, ready, write }: LedgerParts): MysqlLedger {
  const inTransaction = <T>(work: (ask: Ask) => Promise<T>): Promise<T> =>
    retryConflicts(() => driver.transaction((tx) => work((sql) => driver.query(tx, sql))))

  /** Once the names are known, and with the error of the store. */
  async function using<T>(work: () => Promise<T>): Promise<T> {
    try {
      await ready()
      return await work()
    } catch (error) {
      throw events.unavailable(error)
    }
  }

  async function upsert(name: UpsertName, requests: readonly WriteValues[]) {
    const isMany = requests.length > 1 && locks === undefined && (name === 'claim' || name === 'complete')
    if (!isMany) return Promise.all(requests.map((values) => upsertOne(name, values)))
    if (name === 'claim') return claimMany(requests)
    const isSure = areAccepted(await write(upsertingMany(events.name, name, requests)))
    return isSure ? requests.map(() => COMPLETED) : findAll(requests)
  }

  /** New events need one trip. If one is known, all are decided in a transaction: between a write and a read, a row could change. */
  async function claimMany(requests: readonly WriteValues[]) {
    try {
      await write(insertingMany(events.name, 'claim', requests))
      return requests.map(() => CLAIMED)
    } catch (error) {
      if (!isDuplicate(error)) throw error
    }
    return inTransaction(async (ask) => {
      await ask(upsertingMany(events.name, 'claim', requests))
      return verdictsIn(await ask(finding(events.name, requests)), requests)
    })
  }

  async function upsertOne(name: UpsertName, values: WriteValues): Promise<Verdict | undefined> {
    const send = async (isLong: boolean, slots = locks?.name) =>
      writtenIn(await write(upserting(events.name, name, values, { locks: slots, isLong })))
    let written = await send(false)
    if (written === 'left') written = await send(true)
    if (written === 'nothing' && locks !== undefined) {
      if (UPSERTS[name].meeting !== 'holds' || !(await isHolder(values))) {
        await driver.reading((ask) => checkSlots(ask, locks))
        return undefined
      }
      // An inbox may have another event of the slot.
      written = writtenIn(await write(upserting(events.name, name, values, { isLong: true })))
    }
    if (written === 'nothing' && 'inserts' in UPSERTS[name]) {
      await write(`DELETE FROM ${events.name} WHERE event_key = ${literal(values.key)} AND expires_at = 0`)
      return undefined
    }
    if (typeof written === 'string' || written.verdict === undefined) throw unexpectedRows()
    return written.verdict
  }

  /** Whether a delivery has a live lease: then no inbox has the event, and its row is locked for a moment at most. */
  async function isHolder(values: WriteValues): Promise<boolean> {
    const [own, any] = await findAll([values, { key: values.key }])
    return own?.isOwn === true && own.state === 'running' && (any?.leftMs ?? 0) > 0
  }

  /** It waits for no transaction of an inbox. */
  async function update(name: UpdateName, values: WriteValues): Promise<boolean> {
    const isPlain = UPDATES[name].meeting === 'holds' && (locks === undefined || (await isHolder(values)))
    if (isPlain) return (await write(updating(events.name, name, values))) === 1
    return inTransaction(async (ask) => {
      const { rows } = await ask(lockingFor(events.name, name, values))
      if (rows.length > 0) await ask(updating(events.name, name, values))
      return rows.length > 0
    })
  }

  async function findAll(asked: readonly Asked[]): Promise<(Verdict | undefined)[]> {
    const found = verdictsIn(await driver.reading((ask) => ask(finding(events.name, asked))), asked)
    const handled = asked.filter((_, i) => {
      const verdict = found[i]
      return verdict !== undefined && isFinal(verdict) && !verdict.isOwn
    })
    if (handled.length > 0) await flushed(handled.map(({ key }) => key))
    return found
  }

  /** Returns once the records of handled events, which were read, are on disk. */
  async function flushed(keys: readonly string[]): Promise<void> {
    try {
      await write(touching(events.name, keys))
    } catch (error) {
      // One that may only read, such as in a move from another store, cannot wait for it.
      if (!isForbidden(error) && !isWrongServer(error)) throw error
    }
  }

  async function check(ask: Ask): Promise<void> {
    await events.check(ask)
    await locks?.check(ask)
    const name = events.name
    const values = { ...NOBODYS, key: `check/${crypto.randomUUID()}` }
    const upserts = Object.keys(UPSERTS) as UpsertName[]
    for (const statement of [
      ...upserts.flatMap((one) =>
        [false, true].map((isLong) => upserting(name, one, values, { locks: locks?.name, isLong })),
      ),
      ...(['claim', 'complete'] as const).map((one) =>
        upsertingMany(name, one, [values, { ...values, key: `${values.key}/2` }]),
      ),
      ...(Object.keys(UPDATES) as UpdateName[]).flatMap((one) => [
        lockingFor(name, one, values),
        updating(name, one, { ...values, reason: 'check' }),
      ]),
      insertingMany(name, 'claim', [{ ...values, key: `${values.key}/3` }]),
      finding(name, [values]),
      touching(name, [values.key]),
      ...(idleMs === undefined ? [] : [MARK, CHECK_MARK]),
      `DELETE FROM ${name} WHERE event_key = ${literal(values.key)}`,
    ])
      await ask(statement)
  }

  return {
    check: () =>
      using(async () => {
        await retryConflicts(() =>
          driver.transaction(
            (tx) => check((sql) => driver.query(tx, sql)),
            () => ({ commits: false }),
            idleMs === undefined ? {} : { idleMs },
          ),
        )
        await findAll([{ key: 'check' }])
        if (locks !== undefined) await driver.reading((ask) => checkSlots(ask, locks))
      }),
    upsert: (name, requests) => using(() => upsert(name, requests)),
    update: (name, values) => using(() => update(name, values)),
    find: (key) => using(async () => (await findAll([{ key }]))[0]),
    // It waits: no delivery runs by a key of bytes.
    forget: (key) =>
      using(() =>
        inTransaction(async (ask) => {
          const isIt = `FROM ${events.name} WHERE event_key = ${literal(key)}`
          const { rows } = await ask(`SELECT 1 ${isIt} FOR UPDATE`)
          if (rows.length > 0) await ask(`DELETE ${isIt}`)
          return rows.length > 0
        }),
      ),
    read: (read) =>
      using(() => driver.reading(async (ask) => rowsIn(await ask(reading(events.name, read)), read))),
    purge: (limit, minAgeMs) =>
      using(() => {
        const [where = '', by = ''] = spell(EXPIRED, {
          parameter: (name) => (name === 'age_ms' ? whole(minAgeMs) : whole(limit)),
          now: NOW,
          live: '',
          stored: (column) => column,
          given: (column) => column,
        }).split(/ ORDER BY | LIMIT /)
        return events.purge(driver, { where, by, limit, isParked: "failure = 'parked'" })
      }),
  }
}

/** In the order of the requests. */
function verdictsIn({ rows }: Answer, asked: readonly unknown[]): (Verdict | undefined)[] {
  const found: (Verdict | undefined)[] = asked.map(() => undefined)
  for (const [index, verdict] of rows) found[Number(index)] = verdictIn(verdict)
  return found
}

function rowsIn({ rows }: Answer, { select }: Read) {
  return rows.map((row) =>
    select.map(({ type }, index) => {
      const value = row[index] ?? null
      if (value === null) return null
      if (type === 'integer' || type === 'ms') return Number(value)
      return type === 'bytes' ? bytesIn(value) : textIn(value)
    }),
  )
}

/** What a write has left in the register. Not every library passes on the report of one: then it must have been 0 before. */
export async function registerAfter(ask: Ask, statement: string): Promise<number> {
  const { written } = await ask(statement)
  if (written !== undefined) return written.id
  const [row] = (await ask('SELECT LAST_INSERT_ID()')).rows
  return Number(row?.[0])
}

/** Before a write through such a library. */
export const RESET_REGISTER = 'SET last_insert_id = 0'
