import { ddl as mysqlDdl } from 'tix-webhooks/mysql'
import { type PostgresInbox, ddl as postgresDdl } from 'tix-webhooks/postgres'
import { onTestFinished } from 'vitest'
import { MYSQL_INBOX_CLIENTS } from '../../support/mysql-clients.js'
import { testMysqlDatabase } from '../../support/mysql-database.js'
import { onMysql, onPostgres } from '../../support/on-servers.js'
import { INBOX_CLIENTS, openPg } from '../../support/postgres-clients.js'
import { testDatabase } from '../../support/postgres-database.js'
import { untilWaiting } from '../mysql/pools.js'

/** A client library on one of the servers, which all have these methods. */
interface Client {
  inbox(options?: {
    readonly idleTimeoutSeconds?: number
    readonly retentionSeconds?: number
    readonly purgeEverySeconds?: false
  }): PostgresInbox<unknown>
  run(tx: unknown, statement: string): Promise<unknown>
}

export interface ServerDatabase {
  query(sql: string): Promise<Record<string, unknown>[]>
  column(sql: string): Promise<unknown[]>
  /** @param isolation of its transactions, on Postgres */
  open(client: string, options?: { readonly connections?: number; readonly isolation?: string }): Client
  /** With rights on these tables alone, until the test ends. */
  openWithRights(client: string, tables: readonly string[]): Promise<Client>
  /** A session of its own, until the test ends. */
  connect(): Promise<{ query(sql: string): Promise<unknown> }>
  /** Resolves when a statement that contains this text waits for another transaction. */
  untilWaiting(text: string): Promise<void>
}

function named<Library extends { readonly name: string }>(libraries: readonly Library[], name: string) {
  return libraries.find((library) => library.name === name) as Library
}

/** Prepares databases that have our tables, and those of the given statements. */
export const SERVERS = [
  {
    name: 'postgres',
    describe: onPostgres,
    clients: INBOX_CLIENTS.map(({ name }) => name),
    prepare(...statements: readonly string[]): ServerDatabase {
      const database = testDatabase(...statements, postgresDdl)
      const open = (client: string, max = 4, settings: Readonly<Record<string, string>> = {}) =>
        named(INBOX_CLIENTS, client).open(database, { max, settings }) as Client
      return {
        query: (sql) => database.query(sql),
        column: (sql) => database.column(sql),
        open: (client, { connections, isolation = 'read committed' } = {}) =>
          open(client, connections, { default_transaction_isolation: isolation }),
        async openWithRights(client, tables) {
          const role = `${database.schema}_role`
          await database.query(`CREATE ROLE ${role}; GRANT USAGE ON SCHEMA ${database.schema} TO ${role};
            GRANT ALL ON ${tables.join()} TO ${role}`)
          onTestFinished(async () => void (await database.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`)))
          return open(client, 4, { role })
        },
        async connect() {
          const connection = await openPg(database).connect()
          onTestFinished(() => connection.release())
          return connection
        },
        async untilWaiting(text) {
          const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%${text}%'
            AND pid IN (SELECT pid FROM pg_locks JOIN pg_class ON relation = pg_class.oid
              WHERE relnamespace = '${database.schema}'::regnamespace)`
          while ((await database.query(waiting)).length === 0);
        },
      }
    },
  },
  {
    name: 'mysql',
    describe: onMysql,
    clients: MYSQL_INBOX_CLIENTS.map(({ name }) => name),
    prepare(...statements: readonly string[]): ServerDatabase {
      const database = testMysqlDatabase(...statements, mysqlDdl)
      const open = (client: string, connectionLimit = 4, url = database.url) =>
        named(MYSQL_INBOX_CLIENTS, client).open({ ...database, url }, { connectionLimit }) as Client
      return {
        query: (sql) => database.query(sql),
        column: (sql) => database.column(sql),
        open: (client, { connections } = {}) => open(client, connections),
        async openWithRights(client, tables) {
          const user = `u${Math.random().toString(36).slice(2)}`
          await database.query(`CREATE USER ${user} IDENTIFIED BY 'hunter2'`)
          onTestFinished(async () => void (await database.query(`DROP USER ${user}`)))
          for (const table of [...tables, 'tix_webhooks_events_locks']) {
            await database.query(`GRANT ALL ON ${table} TO ${user}`)
          }
          const url = new URL(database.url)
          url.username = user
          url.password = 'hunter2'
          return open(client, 4, url.href)
        },
        async connect() {
          const connection = await database.connect()
          onTestFinished(() => connection[Symbol.asyncDispose]())
          return connection
        },
        untilWaiting: (text) => untilWaiting(database, text),
      }
    },
  },
] as const
