import { StoreError } from '../../src/index.js'
import { CHECK_LOCK_MS } from '../../src/internal.js'
import type { Ask, CheckedDriver } from './drivers/driver.js'

/**
 * Does what a delivery does in a transaction, with a key that no delivery has, and rolls it back: so that a check meets what the next delivery
 * would. It waits for no lock for long.
 */
export async function tryOut(
  driver: CheckedDriver<unknown, unknown>,
  work: (ask: Ask, tx: unknown) => Promise<void>,
): Promise<void> {
  const undone = new Error('tix-webhooks: a check rolls back what it has written')
  try {
    // Thrown, because not every library can roll back otherwise.
    await driver.transaction(
      async (tx) => {
        const ask: Ask = (sql, parameters) => driver.first(tx, sql, parameters)
        // The transaction's own: a client that gives up leaves its statement to the server, where it waits for the lock.
        await ask("SELECT set_config('lock_timeout', $1::text, true)", [String(CHECK_LOCK_MS)])
        await work(ask, tx)
        // A constraint trigger that is deferred would refuse a delivery at its commit.
        await ask('SET CONSTRAINTS ALL IMMEDIATE', [])
        throw undone
      },
      () => null,
    )
  } catch (error) {
    if (error !== undone) throw error
  }
}

/** Not that of an event, which has slashes. */
export function keyOfCheck(): string {
  return `check:${Math.random().toString(36).slice(2)}`
}

/** @throws StoreError when a row that was written cannot be seen, changed or removed */
export function requireRow(isThere: boolean, name: string): asserts isThere {
  if (isThere) return
  throw new StoreError(
    'store_unavailable',
    `A row that was written to ${name} could not be read, changed or removed: does a policy of row-level security hide it from the user of this connection, or a trigger drop it?`,
  )
}
