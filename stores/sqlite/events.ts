import type { Purgeable } from '../../src/index.js'
import { checkedClock } from '../../src/internal.js'
import type { LedgerTable } from '../sql/ledger.js'
import { DEFAULT_TABLE, type SqlStoreOptions } from '../sql/options.js'
import type { Purged } from '../sql/purge.js'
import { eventsDdl } from '../sql/sqlite-dialect/ddl.js'
import { LOCAL, statementsFor } from '../sql/sqlite-dialect/statements.js'
import { ledgerTable, type SyncTable, syncTable } from '../sql/sqlite-dialect/table.js'
import type { SqliteDatabase } from './database.js'
import { sharedCommits } from './shared-commits.js'
import { checkDatabase, type SqliteTable, sqliteTable } from './table.js'

/** The options of a store and an inbox. */
export interface SqliteOptions extends Pick<SqlStoreOptions, 'purgeEverySeconds'> {
  /** Its table, which a store and an inbox may share. Default `tix_webhooks_events`. */
  table?: string | undefined
  /** Milliseconds since the epoch. Default `Date.now`: a wall clock, because the records must survive a restart. */
  now?: (() => number) | undefined
}

/** What a store and an inbox have for their table. */
export interface SqliteTableMethods extends Purgeable {
  /**
   * Resolves if the database is open, can be written, and has the table; it changes no record.
   *
   * @throws StoreError otherwise, with advice
   */
  check(): Promise<void>
  /** Creates what is missing of the tables. For the start of your app; several processes may run it at once. */
  migrate(): Promise<void>
  /** The SQL that `migrate` runs, for tools of your own. */
  readonly ddl: string
}

/** The table of events in a database of the user's. */
export interface EventsTable {
  readonly table: SqliteTable
  /** Its statements, for a transaction; reads need none. */
  readonly events: SyncTable
  /** The same as calls of a store: what arrives in one turn of the event loop is committed together. */
  readonly shared: LedgerTable
  purge(limit: number, minAgeMs: number): Promise<Purged>
  /** Whole milliseconds. */
  now(): number
  check(): void
}

/** @param migrate the user's call that creates it */
export function eventsTable(db: SqliteDatabase, given: SqliteOptions, migrate: string): EventsTable {
  checkDatabase(db)
  const ddl = eventsDdl(given.table ?? DEFAULT_TABLE)
  const table = sqliteTable(db, ddl, migrate)
  const clock = checkedClock(given.now)
  const now = () => Math.floor(clock())
  const events = syncTable(ddl.name, statementsFor(ddl.name, LOCAL), ({ text, names }, values) => {
    // node:sqlite refuses a parameter that the statement does not have.
    const parameters: Record<string, unknown> = {}
    for (const name of names) parameters[name] = values[name] ?? null
    parameters.now = now()
    return table.all(text, parameters)
  })
  const inTransaction = sharedCommits(table)
  return {
    table,
    events,
    shared: ledgerTable(events, inTransaction),
    purge: (limit, minAgeMs) => inTransaction(() => events.purge(limit, minAgeMs)),
    now,
    check: () => table.check(events.tryWrite),
  }
}
