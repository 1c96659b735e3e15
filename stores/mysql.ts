import { failuresDdl } from './mysql/failures/failures.js'
import { inboxDdl } from './mysql/inbox.js'
import { storeDdl } from './mysql/store.js'

export type { TransactionOf } from './mysql/drivers/choose.js'
export type { MysqlConnection, MysqlPool } from './mysql/drivers/connection.js'
export type { MysqlDriver } from './mysql/drivers/driver.js'
export { type MysqlFailures, type MysqlFailuresOptions, mysqlFailures } from './mysql/failures/failures.js'
export {
  type MysqlInbox,
  type MysqlInboxAsOptions,
  type MysqlInboxOptions,
  mysqlInbox,
} from './mysql/inbox.js'
export { type MysqlStore, type MysqlStoreOptions, mysqlStore } from './mysql/store.js'

/** The tables of the store, of the inbox and of the failures by their default names, as SQL for a migration tool of yours. */
export const ddl: string = [storeDdl(), inboxDdl(), failuresDdl()].join('\n')
