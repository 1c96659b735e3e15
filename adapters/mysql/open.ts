import type { JoinedRequest, OnceRequest } from '../../src/index.js'
import { unexpectedRows } from '../../src/internal.js'
import type { Answer, Ask, CheckedDriver, Row } from './drivers/driver.js'
import { MARK } from './drivers/driver.js'
import { deleting } from './failures/statements.js'
import { isSlotOf, noSlots } from './locks.js'
import { bytes, inMs, NOW } from './sql.js'
import type { Table } from './table.js'

/** The tables of an inbox. */
export interface InboxTables {
  readonly records: Table
  readonly locks: Table
}

/** The state of a transaction that was opened for a handler. */
export type Opening =
  | { readonly status: 'opened' }
  | { readonly status: 'duplicate' | 'in_flight' }
  /** Only with failures. */
  | { readonly status: 'parked' }

/** Opens the transaction of a handler. `run` is its own, so that its record can be told from others. */
export type Open = (tx: unknown, request: OnceRequest | JoinedRequest, run: string) => Promise<Opening>

/**
 * Returns the function that opens the transaction of a handler: it records the event if it has a key. With failures it does not if that of
 * the request is parked, and removes the failure otherwise.
 */
export function opener(
  driver: Pick<CheckedDriver<unknown>, 'query'>,
  { records, locks }: InboxTables,
  failures?: Table,
): Open {
  /** It inserts nothing if the slot is locked, because another delivery of the event runs, or is missing. */
  const recording = (key: string, retainMs: number, run: string): string => `
    INSERT INTO ${records.name} (\`key\`, run, handled_at, expires_at)
    SELECT ${bytes(key)}, ${bytes(run)}, ${NOW}, ${inMs(retainMs)} FROM ${locks.name} WHERE ${isSlotOf(key)}
    FOR UPDATE SKIP LOCKED
    ON DUPLICATE KEY UPDATE
      run = IF(LAST_INSERT_ID(IF(expires_at <= ${NOW}, ${TAKEN}, ${HANDLED})) = ${TAKEN}, VALUES(run), run),
      handled_at = IF(expires_at <= ${NOW}, ${NOW}, handled_at),
      expires_at = IF(expires_at <= ${NOW}, VALUES(expires_at), expires_at)`

  const recordOf = (key: string, what: string): string =>
    `(SELECT ${what} FROM ${records.name} WHERE \`key\` = ${bytes(key)})`
  const failureOf = (key: string): string =>
    failures === undefined
      ? 'NULL'
      : `(SELECT 1 + (state = 'parked') FROM ${failures.name} WHERE \`key\` = ${bytes(key)})`
  const looking = (key: string, run: string, failureKey: string): string => `
    SELECT ${recordOf(key, `run = ${bytes(run)}`)}, ${recordOf(key, `expires_at > ${NOW}`)},
      EXISTS (SELECT * FROM ${locks.name} WHERE ${isSlotOf(key)}), ${failureOf(failureKey)}`

  async function record(
    ask: Ask,
    { key, retainMs }: { readonly key: string; readonly retainMs: number },
    run: string,
    failureKey: string | undefined,
  ): Promise<{ readonly opening: Opening; readonly failure: unknown }> {
    const known = openingBy(await ask(recording(key, retainMs, run)))
    if (known !== undefined && (failureKey === undefined || known.status !== 'opened')) {
      return { opening: known, failure: null }
    }
    const [row] = (await ask(looking(key, run, failureKey ?? ''))).rows
    const [isOurs, isLive, isThere, failure] = row ?? ([] as Row)
    if (isThere === undefined) throw unexpectedRows()
    if (isTrue(isOurs)) return { opening: { status: 'opened' }, failure }
    if (!isTrue(isThere)) throw noSlots(locks)
    return { opening: { status: isTrue(isLive) ? 'duplicate' : 'in_flight' }, failure: null }
  }

  async function failureWithoutRecord(ask: Ask, key: string): Promise<unknown> {
    const [row] = (await ask(`SELECT ${failureOf(key)}`)).rows
    return row?.[0]
  }

  return async function open(tx, request, run) {
    const { key, retainMs } = request
    const ask: Ask = (sql) => driver.query(tx, sql)
    await records.find(ask)
    const failureKey = failures !== undefined && 'failureKey' in request ? request.failureKey : undefined
    const { opening, failure } =
      key === null
        ? {
            opening: { status: 'opened' } as const,
            failure: failureKey === undefined ? null : await failureWithoutRecord(ask, failureKey),
          }
        : await record(ask, { key, retainMs }, run, failureKey)
    if (opening.status !== 'opened') return opening
    if (failures !== undefined && failureKey !== undefined && failure !== null) {
      if (Number(failure) === PARKED && !(request as JoinedRequest).runsParked) return { status: 'parked' }
      // It stays locked until the end; no other delivery of the event can keep one meanwhile.
      await ask(deleting(failures.name, failureKey))
    }
    await ask(MARK)
    return opening
  }
}

const TAKEN = 1
const HANDLED = 2
const PARKED = 2

/** The result if the client returns the report of the write, so that no second query is needed. */
function openingBy({ written }: Answer): Opening | undefined {
  if (written === undefined) return undefined
  if (written.id === HANDLED) return { status: 'duplicate' }
  if (written.id === TAKEN || written.count === 1) return { status: 'opened' }
  return undefined
}

/** Clients return a truth as a number, a text, a bigint or a boolean. */
function isTrue(value: unknown): boolean {
  return Number(value ?? 0) === 1
}

/** A statement that returns a row if the run has committed its record. */
export function proofOf(records: Table, key: string, run: string): string {
  return `SELECT 1 FROM ${records.name} WHERE \`key\` = ${bytes(key)} AND run = ${bytes(run)}`
}

/** Removes the record of a run that committed it too early. */
export function withdrawing(records: Table, key: string, run: string): string {
  return `DELETE FROM ${records.name} WHERE \`key\` = ${bytes(key)} AND run = ${bytes(run)}`
}
