import type { MikroORM } from '@mikro-orm/postgresql'
import type { Redis as Upstash } from '@upstash/redis'
import type BetterSqlite3 from 'better-sqlite3'
import { drizzle as drizzleMysql } from 'drizzle-orm/mysql2'
import { drizzle as drizzlePostgres } from 'drizzle-orm/node-postgres'
import type { Redis } from 'ioredis'
import type { Knex } from 'knex'
import type { Kysely, Transaction } from 'kysely'
import type Libsql from 'libsql'
import type { PoolConnection as MariadbConnection, Pool as MariadbPool } from 'mariadb'
import type { Pool as CallbackPool } from 'mysql2'
import type { Connection, Pool as MysqlPool, PoolConnection } from 'mysql2/promise'
import type { Client, Pool, PoolClient } from 'pg'
import type { Sql, TransactionSql } from 'postgres'
import type { createClient } from 'redis'
import type { Sequelize, Transaction as SequelizeTransaction } from 'sequelize'
import { createReceiver, type HandlerContext, type Inbox, type TxOf, type WebhookOptions } from 'tix-webhooks'
import {
  type DurableObjectNamespace,
  durableObjectStore,
  TixWebhooksObject,
} from 'tix-webhooks/durable-object'
import { type MysqlDriver, type MysqlInbox, mysqlInbox, mysqlStore } from 'tix-webhooks/mysql'
import {
  fromKnex,
  fromKysely,
  fromMikroOrm,
  fromSequelize,
  fromTypeOrm,
  type PostgresDriver,
  type PostgresInbox,
  postgresInbox,
  postgresStore,
} from 'tix-webhooks/postgres'
import { redisStore } from 'tix-webhooks/redis'
import {
  type SqliteInbox,
  type SqliteStore,
  type SqliteTransaction,
  sqliteInbox,
  sqliteStore,
} from 'tix-webhooks/sqlite'
import type { DataSource, EntityManager } from 'typeorm'
import { describe, expectTypeOf, test } from 'vitest'

interface Tables {
  orders: { id: string }
}
interface Tx {
  insert(table: string, row: object): Promise<void>
}

declare const kysely: Kysely<Tables>

const common = { secret: 's', namespace: 'n' } as const
const change = { subject: 's', at: new Date() }

describe('the transaction of a handler', () => {
  const inbox = {} as Inbox<Tx>
  const on: WebhookOptions<unknown, Tx>['on'] = {
    'order.created': (_event, ctx) => ctx.tx.insert('orders', {}),
  }

  test('is TxOf the inbox, for handlers that are not inline', () => {
    expectTypeOf<TxOf<Inbox<Tx>>>().toEqualTypeOf<Tx>()
    const ofPg = postgresInbox({} as Pool)
    const ofMysql = mysqlInbox({} as MysqlPool)
    const ofSqlite = sqliteInbox({} as Libsql.Database)
    const ofKysely = postgresInbox<Transaction<Tables>>({} as PostgresDriver<Transaction<Tables>>)
    expectTypeOf<TxOf<typeof ofKysely>>().toEqualTypeOf<Transaction<Tables>>()
    expectTypeOf<TxOf<typeof ofSqlite>>().toEqualTypeOf<SqliteTransaction<Libsql.Database>>()
    createReceiver({
      ...common,
      inbox: ofPg,
      on: {
        'order.created': (_event, ctx: HandlerContext<unknown, TxOf<typeof ofPg>>) =>
          ctx.tx.query('SELECT 1'),
        // @ts-expect-error the transaction of another inbox
        'event.*': (_event, ctx: HandlerContext<unknown, TxOf<typeof ofSqlite>>) => ctx.tx.commit(() => {}),
      },
    })
    createReceiver({
      ...common,
      inbox: ofMysql,
      on: {
        'order.created': (_event, ctx: HandlerContext<unknown, TxOf<typeof ofMysql>>) =>
          ctx.tx.query('SELECT 1'),
      },
    })
    // @ts-expect-error a store has no transaction
    expectTypeOf<TxOf<ReturnType<typeof redisStore>>>()
  })

  test('is that of the inbox that a function of the request resolves to', () => {
    createReceiver({
      ...common,
      inbox: async (request: URL) => {
        expectTypeOf(request).toEqualTypeOf<URL>()
        return inbox
      },
      on: {
        'order.created': (_event, ctx) => {
          expectTypeOf(ctx.tx).toEqualTypeOf<Tx>()
          expectTypeOf(ctx.request).toEqualTypeOf<URL>()
        },
      },
    })
    // @ts-expect-error a pool is no inbox
    createReceiver({ ...common, inbox: () => ({}) as Pool, on: {} })
  })

  test('is undefined without an inbox', () => {
    createReceiver({
      ...common,
      store: postgresStore({} as Pool),
      on: { 'order.created': (_event, ctx) => expectTypeOf(ctx.tx).toEqualTypeOf<undefined>() },
    })
    // @ts-expect-error its inbox is missing
    createReceiver({ secret: 's', on })
  })

  test('is not inferred from a handler: the inbox says what it is', () => {
    const write = (_event: unknown, _ctx: HandlerContext<unknown, PoolClient>): void => {}
    // @ts-expect-error a handler for another transaction
    createReceiver({ ...common, inbox, on: { 'order.created': write } })
    // @ts-expect-error a handler for a transaction, without an inbox that opens one
    createReceiver({ secret: 's', on: { 'order.created': write } })
  })
})

describe('of Postgres', () => {
  const pool = {} as Pool
  const sql = {} as Sql
  const client = {} as Client
  const drizzleOnClient = drizzlePostgres({} as PoolClient)
  const drizzleDb = {} as ReturnType<typeof drizzlePostgres>
  const kyselyDriver = {} as PostgresDriver<Transaction<Tables>>

  test('an inbox has the transaction of the library that it is given', () => {
    expectTypeOf(postgresInbox(pool)).toEqualTypeOf<PostgresInbox<PoolClient>>()
    expectTypeOf(postgresInbox(sql)).toEqualTypeOf<PostgresInbox<TransactionSql>>()
    expectTypeOf(postgresInbox(pool, { table: 't', as: (one) => drizzlePostgres(one) })).toEqualTypeOf<
      PostgresInbox<typeof drizzleOnClient>
    >()
  })

  test('an inbox over a library has its transaction', () => {
    const knex = {} as Knex
    const orm = {} as MikroORM
    expectTypeOf(postgresInbox(fromKysely(kysely))).toEqualTypeOf<PostgresInbox<Transaction<Tables>>>()
    expectTypeOf(mysqlInbox(fromKysely(kysely))).toEqualTypeOf<MysqlInbox<Transaction<Tables>>>()
    expectTypeOf(postgresInbox(fromKnex(knex))).toEqualTypeOf<PostgresInbox<Knex.Transaction>>()
    expectTypeOf(mysqlInbox(fromTypeOrm({} as DataSource))).toEqualTypeOf<MysqlInbox<EntityManager>>()
    expectTypeOf(mysqlInbox(fromSequelize({} as Sequelize))).toEqualTypeOf<MysqlInbox<SequelizeTransaction>>()
    expectTypeOf(postgresInbox(fromMikroOrm(orm))).toEqualTypeOf<PostgresInbox<typeof orm.em>>()
    // @ts-expect-error it is of another library
    fromKysely(knex)
  })

  test('anything but a pool is refused', () => {
    // @ts-expect-error one connection cannot serve concurrent deliveries
    postgresInbox(client)
    // @ts-expect-error it needs a driver
    postgresInbox(drizzleDb)
    // @ts-expect-error it needs a driver
    postgresInbox(kysely)
    // @ts-expect-error one connection cannot serve concurrent deliveries
    postgresStore(client)
    // @ts-expect-error a store needs no transactions
    postgresStore(kyselyDriver)
  })

  test('recordIfNewest answers for one change or a list, in the transaction alone', () => {
    const inbox = postgresInbox(pool)
    const tx = {} as PoolClient
    expectTypeOf(inbox.recordIfNewest(tx, change)).toEqualTypeOf<Promise<boolean>>()
    expectTypeOf(inbox.recordIfNewest(tx, [change] as const)).toEqualTypeOf<Promise<boolean[]>>()
    // @ts-expect-error it is not in the transaction
    inbox.recordIfNewest(pool, change)
  })
})

describe('of MySQL', () => {
  const pool = {} as MysqlPool
  const mariadbPool = {} as MariadbPool
  const callbackPool = {} as CallbackPool
  const connection = {} as Connection
  const drizzleOnConnection = drizzleMysql({ client: {} as PoolConnection })
  const kyselyDriver = {} as MysqlDriver<Transaction<Tables>>

  test('an inbox has the transaction of the library that it is given', () => {
    expectTypeOf(mysqlInbox(pool)).toEqualTypeOf<MysqlInbox<PoolConnection>>()
    expectTypeOf(mysqlInbox(mariadbPool)).toEqualTypeOf<MysqlInbox<MariadbConnection>>()
  })

  test('anything but a pool is refused', () => {
    // @ts-expect-error one connection cannot serve concurrent deliveries
    mysqlInbox(connection)
    // @ts-expect-error it has callbacks: its promise() is what works
    mysqlInbox(callbackPool)
    // @ts-expect-error it needs a driver
    mysqlInbox(drizzleOnConnection)
    // @ts-expect-error a driver itself decides what handlers get
    mysqlInbox(kyselyDriver, { as: (client: PoolConnection) => client })
    // @ts-expect-error a store needs no transactions
    mysqlStore(kyselyDriver)
    // @ts-expect-error it needs a driver
    mysqlInbox(kysely)
  })
})

describe('of SQLite', () => {
  /** `DatabaseSync` of `node:sqlite` as in Node's own types, which Node 20's lack. */
  interface DatabaseSync {
    prepare(sql: string): StatementSync
    exec(sql: string): void
    close(): void
  }
  type SQLInputValue = null | number | bigint | string | NodeJS.ArrayBufferView
  type Named = Record<string, SQLInputValue>
  type Row = Record<string, unknown>
  interface StatementSync {
    all(...anonymous: SQLInputValue[]): Row[]
    all(named: Named, ...anonymous: SQLInputValue[]): Row[]
    get(...anonymous: SQLInputValue[]): Row | undefined
    get(named: Named, ...anonymous: SQLInputValue[]): Row | undefined
    run(...anonymous: SQLInputValue[]): { changes: number | bigint; lastInsertRowid: number | bigint }
    run(
      named: Named,
      ...anonymous: SQLInputValue[]
    ): { changes: number | bigint; lastInsertRowid: number | bigint }
  }
  const better = {} as BetterSqlite3.Database
  const libsql = {} as Libsql.Database
  const sync = {} as DatabaseSync

  test('a store and an inbox take the databases of better-sqlite3, libsql and node:sqlite', () => {
    expectTypeOf(sqliteStore(better)).toEqualTypeOf<SqliteStore>()
    expectTypeOf(sqliteInbox(better)).toEqualTypeOf<SqliteInbox<BetterSqlite3.Database>>()
    expectTypeOf(sqliteInbox(libsql)).toEqualTypeOf<SqliteInbox<Libsql.Database>>()
    expectTypeOf(sqliteInbox(sync)).toEqualTypeOf<SqliteInbox<DatabaseSync>>()
    // @ts-expect-error a pool
    sqliteInbox({} as Pool)
  })

  test('effects get the very database, and commit gives what they return', () => {
    createReceiver({
      ...common,
      inbox: sqliteInbox(better),
      on: {
        'order.created': (event, { tx }) => {
          expectTypeOf(tx).toEqualTypeOf<SqliteTransaction<BetterSqlite3.Database>>()
          const changes = tx.commit((db) => {
            expectTypeOf(db).toEqualTypeOf<BetterSqlite3.Database>()
            return db.prepare('INSERT INTO orders (id) VALUES (?)').run(event.data.order.id).changes
          })
          expectTypeOf(changes).toEqualTypeOf<number>()
        },
      },
    })
  })

  test('recordIfNewest is synchronous, and takes the database of the inbox', () => {
    const inbox = sqliteInbox(better)
    expectTypeOf(inbox.recordIfNewest(better, change)).toEqualTypeOf<boolean>()
    expectTypeOf(inbox.recordIfNewest(better, [change])).toEqualTypeOf<boolean[]>()
    // @ts-expect-error it is of another library
    inbox.recordIfNewest(libsql, change)
  })
})

test('a store on Redis takes nothing but a client', () => {
  const nodeRedis = {} as ReturnType<typeof createClient>
  // @ts-expect-error: sends nothing before exec()
  redisStore(({} as Redis).pipeline())
  // @ts-expect-error: sends nothing before exec()
  redisStore(({} as Upstash).pipeline())
  // @ts-expect-error: its calls return no promise
  redisStore(nodeRedis.legacy())
  // @ts-expect-error: must be awaited
  redisStore(nodeRedis.connect())
  // @ts-expect-error: not a client
  redisStore('redis://localhost')
})

test('the class of the Durable Objects types a binding, as `wrangler types` writes it, and can be extended', () => {
  // As @cloudflare/workers-types declares them.
  interface DurableObjectBranded {
    __DURABLE_OBJECT_BRAND: never
  }
  interface PlatformNamespace<_T extends DurableObjectBranded | undefined = undefined> {
    idFromName(name: string): { readonly name?: string }
    get(id: { readonly name?: string }): {
      fetch(input: string | URL, init?: { method?: string; body?: string }): Promise<Response>
    }
  }
  class Own extends TixWebhooksObject {}
  const binding = {} as PlatformNamespace<Own>
  expectTypeOf(binding).toExtend<DurableObjectNamespace>()
  expectTypeOf(durableObjectStore).toBeCallableWith(binding)
})
