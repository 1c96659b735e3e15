import { Kysely, MysqlDialect } from 'kysely'
import * as mariadb from 'mariadb'
import { createPool } from 'mysql2'
import mysql from 'mysql2/promise'
import { fromKysely, type MysqlInbox, type MysqlInboxOptions, mysqlInbox } from 'tix-webhooks/mysql'
import { onTestFinished } from 'vitest'
import type { TestMysqlDatabase } from './mysql-database.js'

export interface PoolOptions {
  /** The most connections. Default 4. */
  readonly connectionLimit?: number
  /** Default: the server's own. */
  readonly port?: number
  /** Further options of the client. */
  readonly more?: object
}

/** A promise pool of mysql2. */
export function createMysql2(url: string, { connectionLimit = 4, port, more }: PoolOptions = {}): mysql.Pool {
  return mysql.createPool({ uri: withPort(url, port), connectionLimit, ...more })
}

/** A pool of mariadb. */
export function createMariadb(
  url: string,
  { connectionLimit = 4, port, more }: PoolOptions = {},
): mariadb.Pool {
  const parts = new URL(withPort(url, port))
  return mariadb.createPool({
    host: parts.hostname,
    port: Number(parts.port || 3306),
    user: decodeURIComponent(parts.username),
    password: decodeURIComponent(parts.password),
    database: parts.pathname.slice(1),
    connectionLimit,
    // By default it opens them all at once.
    minimumIdle: 1,
    // The default, a second, is too short on a busy machine.
    connectTimeout: 30_000,
    // For an account with a password and without TLS on a MySQL.
    allowPublicKeyRetrieval: true,
    ...more,
  })
}

function withPort(given: string, port: number | undefined): string {
  const url = new URL(given)
  if (port !== undefined) {
    url.hostname = '127.0.0.1'
    url.port = `${port}`
  }
  return url.href
}

/** A client library with an inbox. */
export interface OpenMysqlClient {
  inbox(options?: MysqlInboxOptions): MysqlInbox<unknown>
  /** Runs a statement as a handler does, through its `ctx.tx`. */
  run(tx: unknown, statement: string): Promise<unknown>
}

export interface MysqlInboxClient {
  readonly name: string
  /** Closed when the test ends. */
  open(database: TestMysqlDatabase, options?: PoolOptions): OpenMysqlClient
}

type Querying = { query(sql: string): Promise<unknown> }

function poolClient<Pool extends mysql.Pool | mariadb.Pool>(
  name: string,
  create: (url: string, options?: PoolOptions) => Pool,
): MysqlInboxClient {
  return {
    name,
    open(database, options) {
      const pool = create(database.url, options)
      onTestFinished(() => pool.end().catch(() => {}))
      return {
        inbox: (inboxOptions) => mysqlInbox(pool as mysql.Pool, inboxOptions),
        run: (tx, statement) => (tx as Querying).query(statement),
      }
    },
  }
}

type AnyKysely = Kysely<Record<never, never>>

const kyselyClient: MysqlInboxClient = {
  name: 'Kysely',
  open(database, { connectionLimit = 4, port } = {}) {
    const pool = createPool({ uri: withPort(database.url, port), connectionLimit })
    onTestFinished(() => new Promise((resolve) => void pool.end(() => resolve())))
    const driver = fromKysely<AnyKysely>(new Kysely({ dialect: new MysqlDialect({ pool }) }))
    return {
      inbox: (inboxOptions) => mysqlInbox(driver, inboxOptions),
      run: (tx, statement) => driver.query(tx as AnyKysely, statement),
    }
  },
}

/** The two that the inbox accepts, and one that uses a driver. */
export const MYSQL_INBOX_CLIENTS: readonly MysqlInboxClient[] = [
  poolClient('mysql2', createMysql2),
  poolClient('mariadb', createMariadb),
  kyselyClient,
]
