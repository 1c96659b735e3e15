import { MYSQL, MYSQL_INBOXES, type MysqlClientName } from './proof-mysql.js'
import { INBOXES, POSTGRES, type PostgresClientName } from './proof-postgres.js'

export type SqlClientName = PostgresClientName | MysqlClientName

/** The stores on SQL servers, by the client. */
export const SQL_STORES = { ...POSTGRES, ...MYSQL }

/** The inboxes on SQL servers, by the client. */
export const SQL_INBOXES = { ...INBOXES, ...MYSQL_INBOXES }
