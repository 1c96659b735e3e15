import { newestTable } from './postgres/newest.js'
import { eventsDdl } from './postgres/store.js'
import { locationOf } from './postgres/table-location.js'
import { DEFAULT_TABLE } from './sql/options.js'

export type { TransactionOf } from './postgres/drivers/choose.js'
export type { PostgresDriver } from './postgres/drivers/driver.js'
export type { PgPool } from './postgres/drivers/pg.js'
export type { PostgresJs } from './postgres/drivers/postgres-js.js'
export {
  type PostgresInbox,
  type PostgresInboxAsOptions,
  type PostgresInboxOptions,
  postgresInbox,
} from './postgres/inbox.js'
export { type PostgresStore, type PostgresStoreOptions, postgresStore } from './postgres/store.js'

export * from './sql/libraries.js'

/** The tables of stores and inboxes by their default names, as SQL for a migration tool of yours. */
export const ddl: string = `${eventsDdl}\n${newestTable(locationOf(DEFAULT_TABLE), undefined as never, '').ddl}`
