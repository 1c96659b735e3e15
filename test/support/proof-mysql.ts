import * as mariadb from 'mariadb'
import mysql from 'mysql2/promise'
import {
  type MysqlConnection,
  type MysqlPool,
  mysqlFailures,
  mysqlInbox,
  mysqlStore,
} from 'tix-webhooks/mysql'
import type {
  InboxAccess,
  OpenInbox,
  OpenStore,
  Pass,
  Pooled,
  SqlPlace,
  StoreAccess,
} from './proof-clients.js'

/** What this file uses of a pool of either library. */
type AnyPool = MysqlPool & { execute(sql: string, values: string[]): Promise<unknown> }

/** A server that accepts and does not answer would hold a place in the pool of mysql2 for 10 s by default, and in that of mariadb for one. */
const POOLS = {
  mysql2: ({ url, connections = 10 }) =>
    mysql.createPool({ uri: url, connectionLimit: connections, connectTimeout: 2_000 }) as AnyPool,
  mariadb: ({ url, connections = 10 }) =>
    mariadb.createPool({
      ...mariadbOptions(url),
      connectionLimit: connections,
    }),
} satisfies Record<string, (place: SqlPlace) => AnyPool>

function mariadbOptions(url: string) {
  const { hostname, port, username, password, pathname } = new URL(url)
  return {
    host: hostname,
    port: Number(port || 3306),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: pathname.slice(1),
  }
}

function pooled(pool: MysqlPool): Pooled {
  return {
    async occupy() {
      const connection = await pool.getConnection()
      return () => connection.release()
    },
    close: () => pool.end(),
  }
}

const insertInto = (place: string): string => `INSERT INTO ${place}.effects VALUES (?, ?)`

function openStore(create: (place: SqlPlace) => AnyPool) {
  return async (place: SqlPlace): Promise<StoreAccess> => {
    const pool = create(place)
    return {
      store: mysqlStore(pool, { table: `${place.place}.records` }),
      effect: (order, attempt) => pool.execute(insertInto(place.place), [order, String(attempt)]),
      ...pooled(pool),
    }
  }
}

/** With `pass`, deliveries can be stopped at their COMMIT. */
function openInbox(create: (place: SqlPlace) => AnyPool) {
  return async (place: SqlPlace, pass?: Pass): Promise<InboxAccess> => {
    const pool = create(place)
    const used = pass ? stoppablePool(pool, pass) : pool
    return {
      inbox: mysqlInbox(used, { table: `${place.place}.inbox` }),
      failures: mysqlFailures(used, { table: `${place.place}.failures` }),
      effect: (order, tx) => (tx as AnyPool).execute(insertInto(place.place), [order, 'committed']),
      ...pooled(pool),
    }
  }
}

/** A pool whose transactions can be stopped at their COMMIT. */
function stoppablePool(pool: MysqlPool, pass: Pass): MysqlPool {
  return {
    getConnection: async () => stoppable(await pool.getConnection(), pass),
    query: (options) => pool.query(options),
    end: () => pool.end(),
  }
}

/** Autocommit that is turned on commits, unless all is rolled back already. */
function stoppable(connection: MysqlConnection, pass: Pass): MysqlConnection {
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
    if (options.sql === 'ROLLBACK') isRolledBack = true
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
  mysql2: openStore(POOLS.mysql2),
  mariadb: openStore(POOLS.mariadb),
} satisfies Record<string, OpenStore>

/** The inboxes; with `pass`, deliveries can be stopped at their COMMIT. */
export const MYSQL_INBOXES = {
  mysql2: openInbox(POOLS.mysql2),
  mariadb: openInbox(POOLS.mariadb),
} satisfies Record<string, OpenInbox>
