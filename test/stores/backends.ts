import { randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import type { LedgerInbox, RemoteLedgerStore } from 'tix-webhooks'
import { ddl as mysqlDdl, mysqlInbox, mysqlStore } from 'tix-webhooks/mysql'
import { ddl as postgresDdl, postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { describe, onTestFinished } from 'vitest'
import { failedDelivery } from '../support/failed-delivery.js'
import { testMysqlDatabase } from '../support/mysql-database.js'
import { onMysql, onPostgres } from '../support/on-servers.js'
import { WAIT_LIMIT_MS } from '../support/patience.js'
import { openPg, openPostgresJs } from '../support/postgres-clients.js'
import { testDatabase } from '../support/postgres-database.js'
import { DRIVERS, useDatabases } from '../support/sqlite-drivers.js'
import { valuesOf } from '../support/sqlite-open.js'
import { POOLS } from './mysql/pools.js'

interface OnTable {
  readonly ddl: string
  migrate(): Promise<void>
  check(): Promise<void>
  purge(options?: { limit?: number }): Promise<number>
  isHandled(key: string): Promise<boolean>
}

/** The two of a database on one table, on one client of the app. */
export interface Pair {
  readonly store: OnTable & RemoteLedgerStore
  readonly inbox: OnTable & LedgerInbox<unknown>
  /** Closes the client. */
  close(): Promise<unknown>
}

interface OpenOptions {
  readonly table?: string
  /** Default: never. */
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
  open(options?: OpenOptions): Pair
  query(sql: string): Promise<unknown>
  /** The first column of all rows. */
  column(sql: string): Promise<unknown[]>
  /** The names of all tables, and of all indexes but those of primary keys. */
  names(): Promise<unknown[]>
  /** That of its server, if it has one. */
  address?(): { readonly host: string; readonly port: number }
  /** The name of the schema or the database, with a dot, if a table can be named with it. */
  readonly place: string
  /** Changes when a record is written. */
  version(): Promise<unknown>
  /** Runs a statement in a transaction that lasts until the returned function is called. */
  hold?(statement: string): Promise<() => Promise<unknown>>
  /** A user with these rights on all our tables. */
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

export const TABLE = 'tix_webhooks_events'

function addressIn(url: string, usual: number): { host: string; port: number } {
  const { hostname: host, port } = new URL(url)
  return { host, port: Number(port || usual) }
}

/** A purge in the background would take rows that a test counts. */
const UNPURGED = { purgeEverySeconds: false } as const

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
          const given = { ...UNPURGED, ...options }
          return {
            store: postgresStore(pool, given),
            inbox: postgresInbox(pool, given) as Pair['inbox'],
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
        version: () => query(`SELECT ctid, xmin, xmax FROM ${TABLE}`),
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
          const given = { ...UNPURGED, ...options }
          return {
            store: mysqlStore(pool, given),
            inbox: mysqlInbox(pool, given) as unknown as Pair['inbox'],
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
        version: () => query(`CHECKSUM TABLE ${TABLE}, ${TABLE}_locks`),
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
          for (const table of [TABLE, `${TABLE}_locks`]) {
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
          const given = { ...UNPURGED, ...options }
          return {
            store: sqliteStore(db, given),
            inbox: sqliteInbox(db, given) as unknown as Pair['inbox'],
            close: async () => db.close(),
          }
        },
        query: async (sql) => databases.open().exec(sql),
        column: async (sql) => valuesOf(databases.open(), sql),
        names: async () =>
          valuesOf(databases.open(), 'SELECT name FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name'),
        place: '',
        // Its check has to write, and removes what it wrote.
        version: async () => databases.open().prepare(`SELECT * FROM ${TABLE}`).all(),
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

/** Each writes a row with this key. */
export const WRITING: readonly ((pair: Pair, key: string) => Promise<unknown>)[] = [
  async ({ store }, key) => store.claim(claimOf(key)),
  ({ inbox }, key) => inbox.once(onceOf(key), async () => {}),
  async ({ store }, key) => store.keep(failedDelivery({ key })),
  async ({ inbox }, key) => inbox.keep(failedDelivery({ key, parkAfter: { attempts: 1 } })),
]
