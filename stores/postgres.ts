import { failuresDdl } from './postgres/failures/failures.js'
import { inboxDdl } from './postgres/inbox.js'
import { storeDdl } from './postgres/store.js'

export type { TransactionOf } from './postgres/drivers/choose.js'
export type { PostgresDriver } from './postgres/drivers/driver.js'
export type { PgPool } from './postgres/drivers/pg.js'
export type { PostgresJs } from './postgres/drivers/postgres-js.js'
export {
  type PostgresFailures,
  type PostgresFailuresOptions,
  postgresFailures,
} from './postgres/failures/failures.js'
export {
  type PostgresInbox,
  type PostgresInboxAsOptions,
  type PostgresInboxOptions,
  postgresInbox,
} from './postgres/inbox.js'
export { type PostgresStore, type PostgresStoreOptions, postgresStore } from './postgres/store.js'

/** The tables of the store, of the inbox and of the failures by their default names, as SQL for a migration tool of yours. */
export const ddl: string = `${storeDdl}\n${inboxDdl}\n${failuresDdl}`
