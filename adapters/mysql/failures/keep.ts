import type { FailedDelivery, FailureState } from '../../../src/index.js'
import { keepInTurn, unexpectedRows } from '../../../src/internal.js'
import { retryConflicts } from '../conflicts.js'
import type { Ask, CheckedDriver } from '../drivers/driver.js'
import { checkSlots, isSlotOf } from '../locks.js'
import type { InboxTables } from '../open.js'
import { bytes, NOW } from '../sql.js'
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
  async function keepWith(ask: Ask, failed: FailedDelivery): Promise<FailureState> {
    await ask(keeping(table.name, failed))
    const [row] = (await ask(isParked(table.name, failed.key))).rows
    if (row === undefined) throw unexpectedRows()
    return Number(row[0]) === 1 ? 'parked' : 'failing'
  }

  async function keepUnlessHandled(
    ask: Ask,
    failed: FailedDelivery,
    { records, locks }: InboxTables,
  ): Promise<Kept> {
    const { rows } = await ask(
      `SELECT slot FROM ${locks.name} WHERE ${isSlotOf(failed.key)} FOR UPDATE SKIP LOCKED`,
    )
    if (rows.length === 0) {
      await checkSlots(ask, locks)
      return 'in_flight'
    }
    // The first that reads without a lock, so it sees what was committed until the slot was locked.
    const handled = await ask(
      `SELECT 1 FROM ${records.name} WHERE \`key\` = ${bytes(failed.key)} AND expires_at > ${NOW}`,
    )
    return handled.rows.length > 0 ? 'handled' : keepWith(ask, failed)
  }

  return keepInTurn((failed, inbox) =>
    retryConflicts(() =>
      driver.transaction(async (tx) => {
        const ask: Ask = (sql) => driver.query(tx, sql)
        await table.find(ask)
        return inbox === undefined ? keepWith(ask, failed) : keepUnlessHandled(ask, failed, inbox)
      }),
    ),
  )
}
