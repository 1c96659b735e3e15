import { randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import type { FailedDelivery, Inbox, KeptFailures, RemoteStore } from 'tix-webhooks'
import { ddl as mysqlDdl, mysqlFailures, mysqlInbox, mysqlStore } from 'tix-webhooks/mysql'
import { ddl as postgresDdl, postgresFailures, postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { sqliteFailures, sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { describe, onTestFinished } from 'vitest'
import { testMysqlDatabase } from '../support/mysql-database.js'
import { onMysql, onPostgres } from '../support/on-servers.js'
import { WAIT_LIMIT_MS } from '../support/patience.js'
import { openPg, openPostgresJs } from '../support/postgres-clients.js'
import { testDatabase } from '../support/postgres-database.js'
import { DRIVERS, useDatabases } from '../support/sqlite-drivers.js'
import { valuesOf } from '../support/sqlite-open.js'
import { POOLS } from './mysql/pools.js'

interface Part {
  readonly ddl: string
  migrate(): Promise<void>
  check(): Promise<void>
  purge(options?: { limit?: number }): Promise<number>
}

/** The three of a database, on one client of the app. */
export interface Three {
  readonly store: Part & RemoteStore
  readonly inbox: Part & Inbox<unknown> & { isHandled(key: string): Promise<boolean> }
  readonly failures: Part & KeptFailures
  /** Closes the client. */
  close(): Promise<unknown>
}

interface OpenOptions {
  /** Of the store; those of the other two end with `_i` and `_f`. */
  readonly table?: string
  readonly purgeEverySeconds?: number
  readonly isReadOnly?: boolean
  /** A user that `userWith` made. */
  readonly user?: string
  readonly port?: number
  /** The most connections. Default 4. */
  readonly connections?: number
}

interface Database {
  /** On a client of its own, which is closed when the test ends. */
  open(options?: OpenOptions): Three
  query(sql: string): Promise<unknown>
  /** The first column of all rows. */
  column(sql: string): Promise<unknown[]>
  /** The names of all tables, and of all indexes but those of primary keys. */
  names(): Promise<unknown[]>
  /** That of its server, if it has one. */
  address?(): { readonly host: string; readonly port: number }
  /** The name of the schema or the database, with a dot, if a table can be named with it. */
  readonly place: string
  /** An expression for the time so many hours ago. */
  ago(hours: number): string
  /** Changes when a record is written. */
  version(): Promise<unknown>
  /** Runs a statement in a transaction that lasts until the returned function is called. */
  hold?(statement: string): Promise<() => Promise<unknown>>
  /** A user with these rights on the three tables. */
  userWith?(rights: readonly string[]): Promise<string>
}

export interface Backend {
  readonly name: string
  readonly server: 'postgres' | 'mysql' | 'sqlite'
  readonly describe: typeof describe | ReturnType<typeof describe.skipIf>
  readonly ddl?: string
  /** A database without tables, in the body of a `describe`. */
  prepare(): Database
}

export const TABLES = {
  store: 'tix_webhooks',
  inbox: 'tix_webhooks_inbox',
  failures: 'tix_webhooks_failures',
} as const

function addressIn(url: string, usual: number): { host: string; port: number } {
  const { hostname: host, port } = new URL(url)
  return { host, port: Number(port || usual) }
}

/** The options of each factory. */
function optionsOf({ table, purgeEverySeconds }: OpenOptions): readonly [object, object, object] {
  const [store, inbox, failures] = ['', '_i', '_f'].map((end) => ({
    ...(table !== undefined && { table: `${table}${end}` }),
    ...(purgeEverySeconds !== undefined && { purgeEverySeconds }),
  }))
  return [store, inbox, failures] as [object, object, object]
}

const POSTGRES = [
  { client: 'pg', openPool: openPg },
  { client: 'postgres.js', openPool: openPostgresJs },
].map(
  ({ client, openPool }): Backend => ({
    name: `Postgres over ${client}`,
    server: 'postgres',
    describe: onPostgres,
    ddl: postgresDdl,
    prepare() {
      const database = testDatabase()
      const { schema, query, column } = database
      return {
        open({ isReadOnly, user, port, connections, ...options } = {}) {
          const pool = openPool(database, {
            ...(port !== undefined && { port }),
            ...(connections !== undefined && { max: connections }),
            settings: {
              ...(isReadOnly && { default_transaction_read_only: 'on' }),
              ...(user !== undefined && { role: user }),
            },
          }) as Pool
          const [ofStore, ofInbox, ofFailures] = optionsOf(options)
          return {
            store: postgresStore(pool, ofStore),
            inbox: postgresInbox(pool, ofInbox) as Three['inbox'],
            failures: postgresFailures(pool, ofFailures),
            close: () => pool.end(),
          }
        },
        query,
        column,
        names: () =>
          column(
            `SELECT tablename::text COLLATE "C" AS name FROM pg_tables WHERE schemaname = $1 UNION
             SELECT indexname::text FROM pg_indexes WHERE schemaname = $1 AND indexname NOT LIKE '%_pkey' ORDER BY name`,
            [schema],
          ),
        address: () => addressIn(database.url, 5432),
        place: `${schema}.`,
        ago: (hours) => `now() - interval '${hours} h'`,
        version: () =>
          Promise.all(Object.values(TABLES).map((table) => query(`SELECT ctid, xmin, xmax FROM ${table}`))),
        async hold(statement) {
          const connection = await openPg(database).connect()
          await connection.query(`BEGIN; ${statement}`)
          return async () => {
            await connection.query('ROLLBACK')
            connection.release()
          }
        },
        async userWith(rights) {
          const role = `r_${randomBytes(6).toString('hex')}`
          await query(`CREATE ROLE ${role}; GRANT USAGE ON SCHEMA ${schema} TO ${role}`)
          onTestFinished(async () => void (await query(`DROP OWNED BY ${role}; DROP ROLE ${role}`)))
          if (rights.length > 0) await query(`GRANT ${rights} ON ALL TABLES IN SCHEMA ${schema} TO ${role}`)
          return role
        },
      }
    },
  }),
)

const MYSQL = POOLS.map(
  ({ name, open }): Backend => ({
    name: `MySQL over ${name}`,
    server: 'mysql',
    describe: onMysql,
    ddl: mysqlDdl,
    prepare() {
      const database = testMysqlDatabase()
      const { query, column } = database
      return {
        open({ user, port, connections, ...options } = {}) {
          const url = new URL(database.url)
          if (user !== undefined) [url.username, url.password] = [user, 'hunter2']
          const pool = open(
            { url: url.href },
            {
              ...(port !== undefined && { port }),
              ...(connections !== undefined && { connectionLimit: connections }),
              // One that is refused is asked for again until then.
              ...(name === 'mariadb' && {
                more: { acquireTimeout: (user ?? port) === undefined ? WAIT_LIMIT_MS : 500 },
              }),
            },
          )
          const [ofStore, ofInbox, ofFailures] = optionsOf(options)
          return {
            store: mysqlStore(pool, ofStore),
            inbox: mysqlInbox(pool, ofInbox) as unknown as Three['inbox'],
            failures: mysqlFailures(pool, ofFailures),
            close: () => pool.end(),
          }
        },
        query,
        column,
        names: () =>
          column(
            `SELECT TABLE_NAME AS name FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() UNION
             SELECT INDEX_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND INDEX_NAME <> 'PRIMARY' ORDER BY name`,
          ),
        address: () => addressIn(database.url, 3306),
        place: `${database.name}.`,
        ago: (hours) => `UTC_TIMESTAMP(6) - INTERVAL ${hours} HOUR`,
        version: () => query(`CHECKSUM TABLE ${Object.values(TABLES)}, tix_webhooks_inbox_locks`),
        async hold(statement) {
          const connection = await database.connect()
          await connection.query('START TRANSACTION')
          await connection.query(statement)
          return async () => {
            await connection.query('ROLLBACK')
            await connection[Symbol.asyncDispose]()
          }
        },
        async userWith(rights) {
          const user = `u_${randomBytes(6).toString('hex')}`
          await query(`CREATE USER ${user} IDENTIFIED BY 'hunter2'`)
          onTestFinished(async () => void (await query(`DROP USER ${user}`)))
          for (const table of [...Object.values(TABLES), 'tix_webhooks_inbox_locks']) {
            await query(`GRANT ${rights.length > 0 ? rights : 'TRIGGER'} ON ${table} TO ${user}`)
          }
          return user
        },
      }
    },
  }),
)

const SQLITE = DRIVERS.map(
  ({ name, isHere }): Backend => ({
    name: `SQLite on ${name}`,
    server: 'sqlite',
    describe: describe.skipIf(!isHere),
    prepare() {
      const databases = useDatabases(name)
      return {
        open({ isReadOnly, ...options } = {}) {
          const db = databases.open()
          if (isReadOnly) db.exec('PRAGMA query_only = ON')
          const [ofStore, ofInbox, ofFailures] = optionsOf(options)
          return {
            store: sqliteStore(db, ofStore),
            inbox: sqliteInbox(db, ofInbox) as unknown as Three['inbox'],
            failures: sqliteFailures(db, ofFailures) as unknown as Three['failures'],
            close: async () => db.close(),
          }
        },
        query: async (sql) => databases.open().exec(sql),
        column: async (sql) => valuesOf(databases.open(), sql),
        names: async () =>
          valuesOf(databases.open(), 'SELECT name FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name'),
        place: '',
        ago: (hours) => `${Date.now() - hours * 3_600_000}`,
        // Its check has to write, and removes what it wrote.
        version: async () =>
          Object.values(TABLES).map((table) => databases.open().prepare(`SELECT * FROM ${table}`).all()),
      }
    },
  }),
)

export const BACKENDS: readonly Backend[] = [...POSTGRES, ...MYSQL, ...SQLITE]

const HOUR_MS = 3_600_000

export const claimOf = (key: string, token = 'a') => ({
  key,
  token,
  leaseMs: HOUR_MS,
  retainMs: 24 * HOUR_MS,
})

export const onceOf = (key: string) => ({ key, retainMs: 24 * HOUR_MS })

/** Writes a row with this key into each of the three tables. */
export const WRITING: Readonly<
  Record<keyof typeof TABLES, (three: Three, key: string, failed: FailedDelivery) => Promise<unknown>>
> = {
  store: async ({ store }, key) => store.claim(claimOf(key)),
  inbox: ({ inbox }, key) => inbox.once(onceOf(key), async () => {}),
  failures: async ({ failures }, key, failed) => failures.keep({ ...failed, key }),
}
