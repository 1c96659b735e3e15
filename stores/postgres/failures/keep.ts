import type { FailedDelivery, FailureState } from '../../../src/index.js'
import { STATEMENT_MS } from '../../../src/internal.js'
import { keepInTurn } from '../../sql/keep-in-turn.js'
import { unexpectedRows } from '../../sql/unexpected-rows.js'
import { isConflict } from '../advice.js'
import { requireRow } from '../check.js'
import { answered } from '../drivers/answered.js'
import { type CheckedDriver, type Row, unchecked } from '../drivers/driver.js'
import { limit, liveRecord, lockOf } from '../open.js'
import type { Table } from '../table.js'
import type { Ask } from '../table-location.js'
import { parametersOf } from './rows.js'
import { keeping } from './statements.js'
import type { Texts } from './texts.js'

export type Kept = FailureState | 'handled' | 'in_flight'

interface Keeping {
  readonly failed: FailedDelivery
  readonly inbox: Table | undefined
}

const READ_COMMITTED = 'SET TRANSACTION ISOLATION LEVEL READ COMMITTED'

/**
 * Returns the function that keeps a failure. With the table of an inbox it does so unless the event has been handled, or is in a transaction
 * of that inbox.
 *
 * @param find finds the table, on the connection that is about to use it
 * @param ask sends a statement without a transaction; `undefined` if the library has none
 */
export function keeper(
  driver: CheckedDriver<unknown, unknown>,
  table: Table,
  find: (ask: Ask) => Promise<Texts>,
  ask: Ask | undefined,
): (failed: FailedDelivery, inbox?: Table) => Promise<Kept> {
  /** Whether the transactions of this pool are above READ COMMITTED by default. */
  let isAbove = false

  async function send(keepingOne: Keeping): Promise<Kept> {
    const { failed, inbox } = keepingOne
    if (ask !== undefined && inbox === undefined) {
      try {
        return await answered(STATEMENT_MS, sendAlone(ask, failed))
      } catch (error) {
        if (!isConflict(error)) throw error
      }
    }
    return sendInTransaction(keepingOne)
  }

  /** One round trip, once the table is found. */
  async function sendAlone(ask: Ask, failed: FailedDelivery): Promise<Kept> {
    const texts = await find(ask)
    const rows = await ask(keeping(table.name), parametersOf(failed, texts))
    return onlyBoolean(rows) ? 'parked' : 'failing'
  }

  async function sendInTransaction(keepingOne: Keeping): Promise<Kept> {
    const kept = await answered(
      STATEMENT_MS,
      driver.transaction((tx) => keepIn(tx, keepingOne), unchecked),
    )
    if (kept !== 'above') return kept
    isAbove = true
    return sendInTransaction(keepingOne)
  }

  /** Keeps nothing if the transaction is above READ COMMITTED. */
  async function keepIn(tx: unknown, { failed, inbox }: Keeping): Promise<Kept | 'above'> {
    const ask: Ask = (sql, parameters) => driver.query(tx, sql, parameters, STATEMENT_MS)
    // At a higher level, two failures of an event at the same time would conflict, and one of them would be lost.
    if (isAbove || inbox === undefined) await ask(READ_COMMITTED, [])
    const texts = await find(ask)
    if (inbox !== undefined) {
      await inbox.find(ask)
      // A statement of its own, before the one that looks for the record: that has a later snapshot, so it sees what was committed by the
      // delivery that had the lock until now.
      // With a limit, or a machine that vanishes just then would hold the event for hours.
      const lock = `SELECT ${lockOf(inbox.name, '$1::text')} AS locked, current_setting('transaction_isolation') = 'read committed' AS low, ${limit('idle_in_transaction_session_timeout', `'${STATEMENT_MS}'`)}`
      const [row] = isAbove ? await ask(lock, [failed.key]) : await driver.first(tx, lock, [failed.key])
      const [isLocked, isReadCommitted] = Object.values(row ?? {})
      if (typeof isLocked !== 'boolean' || typeof isReadCommitted !== 'boolean') throw unexpectedRows()
      if (!isReadCommitted && !isAbove) return 'above'
      if (!isLocked) return 'in_flight'
    }
    const rows = await ask(keeping(table.name, inbox?.name), parametersOf(failed, texts))
    if (rows.length === 0 && inbox !== undefined) {
      requireRow((await ask(liveRecord(inbox.name), [failed.key])).length === 1, table.name)
      return 'handled'
    }
    return onlyBoolean(rows) ? 'parked' : 'failing'
  }

  return keepInTurn((failed, inbox) => send({ failed, inbox }))
}

/** The first value of the first row. */
export function onlyBoolean(rows: readonly Row[]): boolean {
  const [value] = Object.values(rows[0] ?? {})
  if (typeof value !== 'boolean') throw unexpectedRows()
  return value
}
