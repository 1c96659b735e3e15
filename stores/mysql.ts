import { databaseOf } from './mysql/database.js'
import { eventsTable } from './mysql/ledger.js'
import { locksTable } from './mysql/locks.js'
import { newestTable } from './mysql/newest.js'
import { DEFAULT_TABLE } from './sql/options.js'

export type { TransactionOf } from './mysql/drivers/choose.js'
export type { MysqlConnection, MysqlPool } from './mysql/drivers/connection.js'
export type { MysqlDriver } from './mysql/drivers/driver.js'
export {
  type MysqlInbox,
  type MysqlInboxAsOptions,
  type MysqlInboxOptions,
  mysqlInbox,
} from './mysql/inbox.js'
export { type MysqlStore, type MysqlStoreOptions, mysqlStore } from './mysql/store.js'

export * from './sql/libraries.js'

/** The tables of the events, of the locks of an inbox and of `recordIfNewest` by their default names, as SQL for a migration tool of yours. */
export const ddl: string = [eventsTable, locksTable, newestTable]
  .map((table) => table(databaseOf({}), DEFAULT_TABLE, '').ddl)
  .join('\n')
