import { StoreError } from '../../src/index.js'
import type { Database } from './database.js'
import type { Ask } from './drivers/driver.js'
import { type Table, tableOf } from './table.js'

/** So many that two of a few hundred events that run at the same time hardly ever share one. */
const SLOTS = 65_536

/**
 * The table of the locks of an inbox, beside that of the records: a row for each slot, of which each event has one by its key. A transaction
 * locks it until its end, and finds one that is locked without waiting: a record that another transaction has just inserted cannot be
 * looked for in that way. A lock by name would be the session's, and stay with its connection in the pool.
 */
export function locksTable(database: Database, given: string, migrate: string): Table {
  return tableOf({
    database,
    given,
    suffix: '_locks',
    columns: { slot: 'INT UNSIGNED NOT NULL' },
    indexes: {},
    filling: {
      isDone: (name) => `SELECT 1 FROM ${name} HAVING COUNT(*) = ${SLOTS}`,
      // In order, and without a look at the table, which would lock it: several may be under way.
      statement: (name) => `INSERT IGNORE INTO ${name} (slot)
SELECT a.n + 16 * b.n + 256 * c.n + 4096 * d.n AS slot
FROM ${['a', 'b', 'c', 'd'].map((alias) => `(${DIGITS}) AS ${alias}`).join(', ')}
ORDER BY slot`,
    },
    migrate,
  })
}

const DIGITS = Array.from({ length: 16 }, (_, n) => `SELECT ${n}${n === 0 ? ' AS n' : ''}`).join(
  ' UNION ALL ',
)

/** The condition of the slot of a key. */
export function isSlotOf(key: string): string {
  return `slot = CRC32(${key}) % ${SLOTS}`
}

/** @throws StoreError when the table has no slot for the empty key, and so perhaps none at all */
export async function checkSlots(ask: Ask, { name }: Table): Promise<void> {
  const { rows } = await ask(`SELECT slot FROM ${name} WHERE ${isSlotOf("''")}`)
  if (rows.length > 0) return
  throw new StoreError(
    'store_unavailable',
    `The table ${name} is empty or incomplete, as after a dump without data: run inbox.migrate(), which fills it.`,
  )
}
