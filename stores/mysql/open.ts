import type { JoinedRequest, OnceRequest } from '../../src/index.js'
import { unexpectedRows } from '../sql/unexpected-rows.js'
import { isForbidden, isWrongServer } from './advice.js'
import { retryConflicts } from './conflicts.js'
import type { Answer, Ask, CheckedDriver } from './drivers/driver.js'
import { MARK } from './drivers/driver.js'
import { deleting, isParked } from './failures/statements.js'
import { isSlotOf, noSlots, slotOf } from './locks.js'
import { bytes, inMs, NOW } from './sql.js'
import type { Table } from './table.js'

/** The tables of an inbox. */
export interface InboxTables {
  readonly records: Table
  readonly locks: Table
}

/** The state of a transaction that was opened for a handler. */
export interface Opening {
  /**
   * `duplicate`: the record is committed and live. `denied`: another transaction has the lock of the event, and only what is committed tells
   * why. `parked`: only with failures, and perhaps by a transaction that is not committed.
   */
  readonly status: 'opened' | 'duplicate' | 'denied' | 'parked'
}

/** Opens the transaction of a handler. `run` is its own, so that its record can be told from others. */
export type Open = (tx: unknown, request: OnceRequest | JoinedRequest, run: string) => Promise<Opening>

/**
 * Returns the function that opens the transaction of a handler: it records the event if it has a key. With failures it does not if that of
 * the request is parked, and removes the failure otherwise.
 *
 * The transaction has the level of the session, which is the user's choice. So what opens it is decided by locks, and what is read of
 * others can only keep it from being opened.
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
      handled_at = IF(expires_at <= ${NOW}, ${NOW}, ${TOUCHED}),
      expires_at = IF(expires_at <= ${NOW}, VALUES(expires_at), expires_at)`

  /** Its own record is the one that this transaction has locked; that of another, which runs, is not waited for. */
  const isRecorded = (key: string, run: string): string =>
    `${proofOf(records, key, run)} FOR UPDATE SKIP LOCKED`

  async function record(ask: Ask, key: string, retainMs: number, run: string): Promise<Opening['status']> {
    const reported = statusBy(await ask(recording(key, retainMs, run)))
    if (reported !== undefined) return reported
    return (await ask(isRecorded(key, run))).rows.length > 0 ? 'opened' : 'denied'
  }

  return async function open(tx, request, run) {
    const { key, retainMs } = request
    const ask: Ask = (sql) => driver.query(tx, sql)
    await records.find(ask)
    const status = key === null ? 'opened' : await record(ask, key, retainMs, run)
    if (status !== 'opened') return { status }
    if (failures !== undefined && 'failureKey' in request) {
      const [row] = (await ask(isParked(failures.name, request.failureKey))).rows
      if (isTrue(row?.[0]) && !request.runsParked) return { status: 'parked' }
      // It stays locked until the end; no other delivery of the event can keep one meanwhile.
      if (row !== undefined) await ask(deleting(failures.name, request.failureKey))
    }
    await ask(MARK)
    return { status }
  }
}

const TAKEN = 1
const HANDLED = 2

/** The result if the client returns the report of the write, so that no second query is needed. */
function statusBy({ written }: Answer): Opening['status'] | undefined {
  if (written === undefined) return undefined
  if (written.id === HANDLED) return 'duplicate'
  return written.id === TAKEN || written.count === 1 ? 'opened' : 'denied'
}

/** Another date, which means the same: InnoDB writes nothing, and so flushes nothing, for an update that changes nothing. */
const TOUCHED = 'handled_at + INTERVAL IF(MICROSECOND(handled_at) % 2 = 1, -1, 1) MICROSECOND'

/**
 * A write to a record that was read: its commit is on disk only after that of the record. InnoDB shows a commit before it has flushed it,
 * unless the commit is in the binary log, which not every one is on a server that has such a log.
 */
export function touching(records: Table, key: string): string {
  return `UPDATE ${records.name} SET handled_at = ${TOUCHED} WHERE \`key\` = ${bytes(key)} AND ${IS_LIVE}`
}

/** Returns once the record of an event, which was read, is on disk. */
export async function flushed(
  driver: Pick<CheckedDriver<unknown, unknown>, 'transaction' | 'query'>,
  records: Table,
  key: string,
): Promise<void> {
  try {
    await retryConflicts(() => driver.transaction((tx) => driver.query(tx, touching(records, key))))
  } catch (error) {
    // One that may only read, such as in a move from another table, cannot wait for it.
    if (!isForbidden(error) && !isWrongServer(error)) throw error
  }
}

/** Why a delivery was denied, by what is committed. */
export async function denialOf(
  ask: Ask,
  { records, locks }: InboxTables,
  key: string,
): Promise<'duplicate' | 'in_flight'> {
  const [row] = (await ask(`SELECT EXISTS (${handledOf(records, key)}), EXISTS (${slotOf(locks, key)})`)).rows
  if (row?.[1] === undefined) throw unexpectedRows()
  if (!isTrue(row[1])) throw noSlots(locks)
  return isTrue(row[0]) ? 'duplicate' : 'in_flight'
}

const IS_LIVE = `expires_at > ${NOW}`

/** A statement that returns a row if the event has been handled. */
export function handledOf(records: Table, key: string): string {
  return `SELECT 1 FROM ${records.name} WHERE \`key\` = ${bytes(key)} AND ${IS_LIVE}`
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
