import type { FailedDelivery, FailureState } from '../../../src/index.js'
import { keepInTurn } from '../../sql/keep-in-turn.js'
import { unexpectedRows } from '../../sql/unexpected-rows.js'
import { retryConflicts } from '../conflicts.js'
import type { Ask, CheckedDriver } from '../drivers/driver.js'
import { checkSlots, slotOf } from '../locks.js'
import { handledOf, type InboxTables } from '../open.js'
import type { Table } from '../table.js'
import { isParked, keeping } from './statements.js'

export type Kept = FailureState | 'handled' | 'in_flight'

/**
 * Returns the function that keeps a failure. With the tables of an inbox it does so unless the event has been handled, or is in a
 * transaction of that inbox.
 */
export function keeper(
  driver: CheckedDriver<unknown, unknown>,
  table: Table,
): (failed: FailedDelivery, inbox?: InboxTables) => Promise<Kept> {
  async function keepUnlessHandled(
    ask: Ask,
    failed: FailedDelivery,
    { records, locks }: InboxTables,
  ): Promise<Kept> {
    const { rows } = await ask(`${slotOf(locks, failed.key)} FOR UPDATE SKIP LOCKED`)
    if (rows.length === 0) return 'in_flight'
    // The first that reads without a lock, so it sees what was committed until the slot was locked.
    const handled = await ask(handledOf(records, failed.key))
    return handled.rows.length > 0 ? 'handled' : keepWith(ask, table, failed)
  }

  return keepInTurn(async (failed, inbox) => {
    const kept = await retryConflicts(() =>
      driver.transaction(async (tx) => {
        const ask: Ask = (sql) => driver.query(tx, sql)
        await table.find(ask)
        return inbox === undefined ? keepWith(ask, table, failed) : keepUnlessHandled(ask, failed, inbox)
      }),
    )
    // Or its slot is missing, which only a look at what is committed tells.
    if (kept === 'in_flight' && inbox !== undefined) {
      await driver.reading((ask) => checkSlots(ask, inbox.locks))
    }
    return kept
  })
}

/** Keeps a failure, and returns its state. */
export async function keepWith(ask: Ask, table: Table, failed: FailedDelivery): Promise<FailureState> {
  await ask(keeping(table.name, failed))
  const [row] = (await ask(isParked(table.name, failed.key))).rows
  if (row === undefined) throw unexpectedRows()
  return Number(row[0]) === 1 ? 'parked' : 'failing'
}
