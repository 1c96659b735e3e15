import { Pool, type PoolClient, type QueryConfig } from 'pg'
import postgres, { type TransactionSql } from 'postgres'
import { postgresFailures, postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import type { OpenInbox, OpenStore, Pass, Pooled, SqlPlace } from './proof-clients.js'

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

const insertInto = (place: string): string => `INSERT INTO ${place}.effects VALUES ($1, $2)`

export const POSTGRES = {
  async pg(place) {
    const pool = pgPool(place)
    return {
      store: postgresStore(pool, { table: `${place.place}.records` }),
      failures: postgresFailures(pool, { table: `${place.place}.failures` }),
      effect: (order, attempt) => pool.query(insertInto(place.place), [order, String(attempt)]),
      ...pooled(pool),
    }
  },

  async 'postgres.js'(place) {
    const sql = postgresJs(place)
    return {
      store: postgresStore(sql, { table: `${place.place}.records` }),
      failures: postgresFailures(sql, { table: `${place.place}.failures` }),
      effect: (order, attempt) => sql.unsafe(insertInto(place.place), [order, String(attempt)]),
      ...reservable(sql),
    }
  },
} satisfies Record<string, OpenStore>

/** A pool whose transactions can be stopped at their COMMIT. */
function stoppablePool(pool: Pool, pass: Pass) {
  return {
    get totalCount() {
      return pool.totalCount
    },
    query: pool.query.bind(pool),
    async connect() {
      const client = await pool.connect()
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
      }
    },
  }
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

/** The inboxes; with `pass`, deliveries can be stopped at their COMMIT. */
export const INBOXES = {
  async pg(place: SqlPlace, pass?: Pass) {
    const pool = pgPool(place)
    const options = { table: `${place.place}.inbox` }
    const client = pass ? stoppablePool(pool, pass) : pool
    return {
      inbox: postgresInbox(client, options),
      failures: postgresFailures(client, { table: `${place.place}.failures` }),
      effect: (order, tx) => (tx as PoolClient).query(insertInto(place.place), [order, 'committed']),
      ...pooled(pool),
    }
  },

  async 'postgres.js'(place: SqlPlace, pass?: Pass) {
    const sql = postgresJs(place)
    const options = { table: `${place.place}.inbox` }
    const client = pass ? stoppableSql(sql, pass) : sql
    return {
      inbox: postgresInbox(client, options),
      failures: postgresFailures(client, { table: `${place.place}.failures` }),
      effect: (order, tx) => (tx as TransactionSql).unsafe(insertInto(place.place), [order, 'committed']),
      ...reservable(sql),
    }
  },
} satisfies Record<string, OpenInbox>
