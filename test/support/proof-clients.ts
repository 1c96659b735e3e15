import { Redis } from 'ioredis'
import * as mariadb from 'mariadb'
import mysql from 'mysql2/promise'
import { Pool, type PoolClient, type QueryConfig } from 'pg'
import postgres, { type TransactionSql } from 'postgres'
import { createClient } from 'redis'
import type { IdempotencyStore, LedgerInbox, LedgerStore } from 'tix-webhooks'
import { type MysqlConnection, type MysqlPool, mysqlInbox, mysqlStore } from 'tix-webhooks/mysql'
import { type PgPool, type PostgresJs, postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { redisStore } from 'tix-webhooks/redis'
import type { Mark } from './apps/protocol.js'

/** The place of an app on a server. */
export interface SqlPlace {
  readonly url: string
  /** The prefix of all keys, or the schema or the database of all tables. */
  readonly place: string
  /** Default 10, as in all libraries. */
  readonly connections?: number
}

/** One app's connection to the records and effects. */
interface Access {
  /** A ledger, but that of Redis. */
  readonly store: IdempotencyStore | LedgerStore
  /** The handler's effect. */
  effect(order: string, attempt: number | undefined): Promise<unknown>
  close(): Promise<unknown>
}

/** Shared connections. */
export interface Pooled {
  /** Takes a connection, and returns a function that releases it. */
  occupy(): Promise<() => unknown>
  close(): Promise<unknown>
}

/** The records are in other transactions than the effects. */
export type StoreAccess = Access & Pooled

/** The records are in the same transactions as the effects. */
interface InboxAccess extends Pooled {
  readonly inbox: LedgerInbox<unknown>
  /** The handler's effect. */
  effect(order: string, tx: unknown): Promise<unknown>
}

/** The first delivery of an app would be stopped at the COMMIT of its purge. */
const UNPURGED = { purgeEverySeconds: false } as const

/** Stops a delivery that has come to this mark, if it is to be stopped there. */
type Pass = (mark: Mark) => Promise<void>

export type OpenStore = (place: SqlPlace) => Promise<Access>
export type OpenInbox = (place: SqlPlace, pass?: Pass) => Promise<InboxAccess>

/** Opens a client as an app would: with the options of its library, and the listener that both libraries need. */
export const REDIS = {
  async ioredis({ url, place }) {
    const client = new Redis(url)
    // Without it, ioredis prints each failure to connect.
    client.on('error', () => {})
    return {
      store: redisStore(client, { prefix: `${place}record:` }),
      effect: (order, attempt) => client.rpush(`${place}effect:${order}`, String(attempt)),
      close: async () => client.disconnect(),
    }
  },

  async 'node-redis'({ url, place }) {
    const client = createClient({ url })
    // Without it, a connection that breaks ends the process.
    client.on('error', () => {})
    await client.connect()
    return {
      store: redisStore(client, { prefix: `${place}record:` }),
      effect: (order, attempt) => client.rPush(`${place}effect:${order}`, String(attempt)),
      close: async () => client.destroy(),
    }
  },
} satisfies Record<string, OpenStore>

/**
 * A pool with `connectionTimeoutMillis`, which is unlimited by default: a server that accepts and does not answer would occupy every
 * place in the pool. Without the listener, an idle connection that breaks ends the process.
 */
function pgPool({ url, connections = 10 }: SqlPlace): Pool {
  return new Pool({ connectionString: url, max: connections, connectionTimeoutMillis: 2_000 }).on(
    'error',
    () => {},
  )
}

/**
 * A client with `connect_timeout`, which is 30 s by default: longer than a sender waits. Without `fetch_types`, a query on each new
 * connection: if it fails, nothing catches it, and it ends the process.
 */
function postgresJs({ url, connections = 10 }: SqlPlace) {
  return postgres(url, { max: connections, connect_timeout: 2, fetch_types: false, onnotice() {} })
}

function pooled(pool: Pool): Pooled {
  return {
    async occupy() {
      const client = await pool.connect()
      return () => client.release()
    },
    close: () => pool.end(),
  }
}

function reservable(sql: postgres.Sql): Pooled {
  return {
    async occupy() {
      const reserved = await sql.reserve()
      return () => reserved.release()
    },
    close: () => sql.end({ timeout: 0 }),
  }
}

/** A pool whose transactions can be stopped at their COMMIT. */
function stoppablePgPool(pool: Pool, pass: Pass): PgPool {
  return {
    get totalCount() {
      return pool.totalCount
    },
    query: pool.query.bind(pool),
    connect: (callback: Parameters<typeof pool.connect>[0]) =>
      pool.connect((error, client, done) => callback(error, client && stoppablePgClient(client, pass), done)),
  } as unknown as PgPool
}

function stoppablePgClient(client: PoolClient, pass: Pass): PoolClient {
  /** The inbox sends its own check in the same message. */
  async function commit(sql: string) {
    await pass('before COMMIT')
    const committing = client.query(sql)
    await pass('while COMMIT is under way')
    const committed = await committing
    await pass('after COMMIT')
    return committed
  }
  return {
    query: (sql: string | QueryConfig, parameters?: unknown[]) =>
      typeof sql === 'string' && sql.endsWith('COMMIT') ? commit(sql) : client.query(sql, parameters),
    on: client.on.bind(client),
    off: client.off.bind(client),
    release: client.release.bind(client),
  } as PoolClient
}

function stoppableSql(sql: postgres.Sql, pass: Pass) {
  return Object.assign(() => {}, {
    async begin(work: (tx: TransactionSql) => Promise<unknown>) {
      const result = await sql.begin(async (tx) => {
        const done = await work(tx)
        await pass('before COMMIT')
        return done
      })
      await pass('after COMMIT')
      return result
    },
    unsafe: sql.unsafe.bind(sql),
  })
}

const insertPostgres = (place: string): string => `INSERT INTO ${place}.effects VALUES ($1, $2)`

/** A client: how it is opened, made stoppable and closed, and runs a statement. */
interface Client<Db extends PgPool | PostgresJs> {
  open(place: SqlPlace): Db
  stoppable(db: Db, pass: Pass): PgPool | PostgresJs
  run(db: Db, sql: string, parameters: string[]): Promise<unknown>
  pooled(db: Db): Pooled
}

const PG_CLIENT: Client<Pool> = {
  open: pgPool,
  stoppable: stoppablePgPool,
  run: (pool, sql, parameters) => pool.query(sql, parameters),
  pooled,
}

const POSTGRES_JS: Client<postgres.Sql> = {
  open: postgresJs,
  stoppable: stoppableSql,
  run: (sql, text, parameters) => sql.unsafe(text, parameters),
  pooled: reservable,
}

function openPostgresStore<Db extends PgPool | PostgresJs>({ open, run, pooled }: Client<Db>) {
  return async (place: SqlPlace): Promise<StoreAccess> => {
    const db = open(place)
    return {
      store: postgresStore(db, { table: `${place.place}.events` }),
      effect: (order, attempt) => run(db, insertPostgres(place.place), [order, String(attempt)]),
      ...pooled(db),
    }
  }
}

/** With `pass`, deliveries can be stopped at their COMMIT. */
function openPostgresInbox<Db extends PgPool | PostgresJs>({ open, stoppable, run, pooled }: Client<Db>) {
  return async (place: SqlPlace, pass?: Pass): Promise<InboxAccess> => {
    const db = open(place)
    const used = pass ? stoppable(db, pass) : db
    return {
      inbox: postgresInbox(used, { table: `${place.place}.events`, ...UNPURGED }),
      effect: (order, tx) => run(tx as Db, insertPostgres(place.place), [order, 'committed']),
      ...pooled(db),
    }
  }
}

export const POSTGRES = {
  pg: openPostgresStore(PG_CLIENT),
  'postgres.js': openPostgresStore(POSTGRES_JS),
} satisfies Record<string, OpenStore>

export const POSTGRES_INBOXES = {
  pg: openPostgresInbox(PG_CLIENT),
  'postgres.js': openPostgresInbox(POSTGRES_JS),
} satisfies Record<string, OpenInbox>

/** The part of a pool of either library that this file uses. */
type AnyMysqlPool = MysqlPool & { execute(sql: string, values: string[]): Promise<unknown> }

/** A server that accepts and does not answer would hold a place in the pool of mysql2 for 10 s by default, and in that of mariadb for one. */
const MYSQL_POOLS = {
  mysql2: ({ url, connections = 10 }) =>
    mysql.createPool({ uri: url, connectionLimit: connections, connectTimeout: 2_000 }) as AnyMysqlPool,
  mariadb: ({ url, connections = 10 }) =>
    mariadb.createPool(
      `${url.replace(/^mysql/, 'mariadb')}?connectionLimit=${connections}&allowPublicKeyRetrieval=true`,
    ),
} satisfies Record<string, (place: SqlPlace) => AnyMysqlPool>

function pooledConnections(pool: MysqlPool): Pooled {
  return {
    async occupy() {
      const connection = await pool.getConnection()
      return () => connection.release()
    },
    close: () => pool.end(),
  }
}

const insertMysql = (place: string): string => `INSERT INTO ${place}.effects VALUES (?, ?)`

function openMysqlStore(create: (place: SqlPlace) => AnyMysqlPool) {
  return async (place: SqlPlace): Promise<StoreAccess> => {
    const pool = create(place)
    return {
      store: mysqlStore(pool, { table: `${place.place}.events` }),
      effect: (order, attempt) => pool.execute(insertMysql(place.place), [order, String(attempt)]),
      ...pooledConnections(pool),
    }
  }
}

/** With `pass`, deliveries can be stopped at their COMMIT. */
function openMysqlInbox(create: (place: SqlPlace) => AnyMysqlPool) {
  return async (place: SqlPlace, pass?: Pass): Promise<InboxAccess> => {
    const pool = create(place)
    const used = pass ? stoppableMysqlPool(pool, pass) : pool
    return {
      inbox: mysqlInbox(used, { table: `${place.place}.events`, ...UNPURGED }),
      effect: (order, tx) => (tx as AnyMysqlPool).execute(insertMysql(place.place), [order, 'committed']),
      ...pooledConnections(pool),
    }
  }
}

/** A pool whose transactions can be stopped at their COMMIT. */
function stoppableMysqlPool(pool: MysqlPool, pass: Pass): MysqlPool {
  return {
    getConnection: async () => stoppableConnection(await pool.getConnection(), pass),
    query: (options) => pool.query(options),
    end: () => pool.end(),
  }
}

/** Autocommit that is turned on commits, unless all is rolled back already. */
function stoppableConnection(connection: MysqlConnection, pass: Pass): MysqlConnection {
  let isRolledBack = false
  async function commit(options: { sql: string }): Promise<unknown> {
    await pass('before COMMIT')
    const committing = connection.query(options)
    await pass('while COMMIT is under way')
    const committed = await committing
    await pass('after COMMIT')
    return committed
  }
  const query: MysqlConnection['query'] = (options) => {
    if (options.sql.startsWith('ROLLBACK')) isRolledBack = true
    const commits = options.sql.startsWith('SET autocommit = 1') && !isRolledBack
    return commits ? commit(options) : connection.query(options)
  }
  return new Proxy(connection, {
    get(target, name) {
      if (name === 'query') return query
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

export const MYSQL = {
  mysql2: openMysqlStore(MYSQL_POOLS.mysql2),
  mariadb: openMysqlStore(MYSQL_POOLS.mariadb),
} satisfies Record<string, OpenStore>

/** The inboxes; with `pass`, deliveries can be stopped at their COMMIT. */
export const MYSQL_INBOXES = {
  mysql2: openMysqlInbox(MYSQL_POOLS.mysql2),
  mariadb: openMysqlInbox(MYSQL_POOLS.mariadb),
} satisfies Record<string, OpenInbox>

/** The inboxes on SQL servers, by the client. */
export const SQL_INBOXES: Readonly<Record<string, OpenInbox>> = { ...POSTGRES_INBOXES, ...MYSQL_INBOXES }

/** All stores, by the client. */
export const STORES: Readonly<Record<string, OpenStore>> = { ...REDIS, ...POSTGRES, ...MYSQL }
