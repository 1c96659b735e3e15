import { drizzle as drizzlePg } from 'drizzle-orm/node-postgres'
import { Kysely, PostgresDialect } from 'kysely'
import { Pool, type PoolClient } from 'pg'
import postgres from 'postgres'
import {
  fromKysely,
  type PostgresInbox,
  type PostgresInboxOptions,
  type PostgresStore,
  type PostgresStoreOptions,
  postgresInbox,
  postgresStore,
} from 'tix-webhooks/postgres'
import { onTestFinished } from 'vitest'
import type { TestDatabase } from './postgres-database.js'

type Rows = readonly Readonly<Record<string, unknown>>[]

export interface ClientOptions {
  /** Server settings of its connections. */
  readonly settings?: Readonly<Record<string, string>>
  /** The most connections it opens. Default 4. */
  readonly max?: number
  /** Default: the server's own. */
  readonly port?: number
}

/** A client library with an inbox or a store. */
export interface OpenClient {
  inbox(options?: PostgresInboxOptions): PostgresInbox<unknown>
  /** Runs a statement as a handler does, through its `ctx.tx`. */
  run(tx: unknown, statement: string): Promise<Rows>
  /** A transaction without the inbox. */
  plain(work: (tx: unknown) => Promise<void>): Promise<void>
  /** Runs `work` between a savepoint and its release, as this library does; an error rolls back to it and is thrown. */
  savepoint(tx: unknown, work: (inner: unknown) => Promise<unknown>): Promise<unknown>
}

export interface InboxClient {
  readonly name: string
  /** Closed when the test ends. */
  open(database: TestDatabase, options?: ClientOptions): OpenClient
}

export interface StoreClient {
  readonly name: string
  /** Closed when the test ends. */
  open(
    database: TestDatabase,
    options?: ClientOptions,
  ): { store(options?: PostgresStoreOptions): PostgresStore }
}

/** A `Pool` of pg, closed when the test ends. */
export function openPg(database: TestDatabase, options: ClientOptions = {}): Pool {
  const pool = new Pool({
    connectionString: urlOf(database, options),
    options: database.settings(options.settings),
    max: options.max ?? 4,
  })
  // Without a listener, an idle connection that breaks ends the process, as pg documents.
  pool.on('error', () => {})
  onTestFinished(() => (pool.ended ? undefined : pool.end()))
  return pool
}

/** The `sql` of postgres.js, closed when the test ends. */
export function openPostgresJs(
  database: TestDatabase,
  options: ClientOptions = {},
  more: postgres.Options<Record<never, never>> = {},
): postgres.Sql {
  const sql = postgres(urlOf(database, options), {
    max: options.max ?? 4,
    backoff: () => 0,
    // This query on each new connection ends the process if it fails.
    fetch_types: false,
    ...more,
    connection: {
      options: database.settings(options.settings),
      // The library sets its own otherwise.
      application_name: options.settings?.application_name ?? 'postgres.js',
    },
  })
  onTestFinished(() => sql.end({ timeout: 0 }))
  return sql
}

type Run<Tx> = (tx: Tx, statement: string) => Promise<Rows>

/** For a library whose transactions within a transaction are statements. */
function bySavepoint<Tx>(run: Run<Tx>) {
  return {
    run: run as Run<unknown>,
    async savepoint(tx: unknown, work: (inner: unknown) => Promise<unknown>) {
      await run(tx as Tx, 'SAVEPOINT mine')
      try {
        await work(tx)
        await run(tx as Tx, 'RELEASE SAVEPOINT mine')
      } catch (error) {
        await run(tx as Tx, 'ROLLBACK TO SAVEPOINT mine')
        throw error
      }
    },
  }
}

const pgClient: InboxClient & StoreClient = {
  name: 'pg',
  open(database, options) {
    const pool = openPg(database, options)
    return {
      store: (storeOptions) => postgresStore(pool, storeOptions),
      inbox: (inboxOptions) => postgresInbox(pool, inboxOptions),
      async plain(work) {
        const client = await pool.connect()
        await work(client).finally(() => client.release())
      },
      ...bySavepoint(async (tx: PoolClient, statement) => (await tx.query(statement)).rows),
    }
  },
}

const postgresJsClient: InboxClient & StoreClient = {
  name: 'postgres.js',
  open(database, options) {
    const sql = openPostgresJs(database, options)
    return {
      store: (storeOptions) => postgresStore(sql, storeOptions),
      inbox: (inboxOptions) => postgresInbox(sql, inboxOptions),
      plain: async (work) => void (await sql.begin(work)),
      run: async (tx: postgres.TransactionSql, statement) => tx.unsafe(statement),
      savepoint: async (tx: postgres.TransactionSql, work) => tx.savepoint((inner) => work(inner)),
    }
  },
}

type DrizzlePg = ReturnType<typeof drizzlePg>

const drizzlePgClient: InboxClient = {
  name: 'Drizzle on pg',
  open(database, options) {
    const pool = openPg(database, options)
    return {
      inbox: (inboxOptions) => postgresInbox(pool, { ...inboxOptions, as: (client) => drizzlePg(client) }),
      plain: (work) => drizzlePg(pool).transaction(work),
      ...bySavepoint(async (tx: DrizzlePg, statement) => (await tx.execute(statement)).rows),
    }
  },
}

type AnyKysely = Kysely<Record<never, never>>

const kyselyClient: InboxClient = {
  name: 'Kysely',
  open(database, options) {
    const pool = openPg(database, options)
    const driver = fromKysely<AnyKysely>(new Kysely({ dialect: new PostgresDialect({ pool }) }), pool)
    return {
      inbox: (inboxOptions) => postgresInbox(driver, inboxOptions),
      plain: driver.transaction,
      ...bySavepoint((tx: AnyKysely, statement) => driver.query(tx, statement, [])),
    }
  },
}

function urlOf(database: TestDatabase, { port }: ClientOptions): string {
  const url = new URL(database.url)
  if (port !== undefined) {
    url.hostname = '127.0.0.1'
    url.port = `${port}`
  }
  return url.href
}

/** The two that the store accepts. */
export const STORE_CLIENTS: readonly StoreClient[] = [pgClient, postgresJsClient]

/** The two that the inbox accepts, one that wraps a client, and one that uses a driver. */
export const INBOX_CLIENTS: readonly InboxClient[] = [
  pgClient,
  postgresJsClient,
  drizzlePgClient,
  kyselyClient,
]
