import { Pool, type PoolClient, type QueryConfig } from 'pg'
import postgres, { type TransactionSql } from 'postgres'
import {
  type PgPool,
  type PostgresJs,
  postgresFailures,
  postgresInbox,
  postgresStore,
} from 'tix-webhooks/postgres'
import type {
  InboxAccess,
  OpenInbox,
  OpenStore,
  Pass,
  Pooled,
  SqlPlace,
  StoreAccess,
} from './proof-clients.js'

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
function stoppablePool(pool: Pool, pass: Pass): PgPool {
  return {
    get totalCount() {
      return pool.totalCount
    },
    query: pool.query.bind(pool),
    connect: (callback: Parameters<typeof pool.connect>[0]) =>
      pool.connect((error, client, done) => callback(error, client && stoppableClient(client, pass), done)),
  } as unknown as PgPool
}

function stoppableClient(client: PoolClient, pass: Pass): PoolClient {
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

const insertInto = (place: string): string => `INSERT INTO ${place}.effects VALUES ($1, $2)`

/** A client: how it is opened, made stoppable and closed, and runs a statement. */
interface Client<Db extends PgPool | PostgresJs> {
  open(place: SqlPlace): Db
  stoppable(db: Db, pass: Pass): PgPool | PostgresJs
  run(db: Db, sql: string, parameters: string[]): Promise<unknown>
  pooled(db: Db): Pooled
}

const PG: Client<Pool> = {
  open: pgPool,
  stoppable: stoppablePool,
  run: (pool, sql, parameters) => pool.query(sql, parameters),
  pooled,
}

const POSTGRES_JS: Client<postgres.Sql> = {
  open: postgresJs,
  stoppable: stoppableSql,
  run: (sql, text, parameters) => sql.unsafe(text, parameters),
  pooled: reservable,
}

function openStore<Db extends PgPool | PostgresJs>({ open, run, pooled }: Client<Db>) {
  return async (place: SqlPlace): Promise<StoreAccess> => {
    const db = open(place)
    return {
      store: postgresStore(db, { table: `${place.place}.records` }),
      effect: (order, attempt) => run(db, insertInto(place.place), [order, String(attempt)]),
      ...pooled(db),
    }
  }
}

/** With `pass`, deliveries can be stopped at their COMMIT. */
function openInbox<Db extends PgPool | PostgresJs>({ open, stoppable, run, pooled }: Client<Db>) {
  return async (place: SqlPlace, pass?: Pass): Promise<InboxAccess> => {
    const db = open(place)
    const used = pass ? stoppable(db, pass) : db
    return {
      inbox: postgresInbox(used, { table: `${place.place}.inbox` }),
      failures: postgresFailures(used, { table: `${place.place}.failures` }),
      effect: (order, tx) => run(tx as Db, insertInto(place.place), [order, 'committed']),
      ...pooled(db),
    }
  }
}

export const POSTGRES = {
  pg: openStore(PG),
  'postgres.js': openStore(POSTGRES_JS),
} satisfies Record<string, OpenStore>

export const INBOXES = {
  pg: openInbox(PG),
  'postgres.js': openInbox(POSTGRES_JS),
} satisfies Record<string, OpenInbox>
