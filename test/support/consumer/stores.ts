// The stores over the clients' own types, as a user writes it; compiled against the packed package by test/repo/package.test.ts.
import type BetterSqlite from 'better-sqlite3'
import { Cluster, Redis } from 'ioredis'
import Libsql from 'libsql'
import * as mariadb from 'mariadb'
import mysql, { type PoolConnection } from 'mysql2/promise'
import { Pool, type PoolClient } from 'pg'
import postgres, { type TransactionSql } from 'postgres'
import { createClient, createCluster } from 'redis'
import { tixWebhooks } from 'tix-webhooks/express'
import { tixWebhooks as forFetch } from 'tix-webhooks/fetch'
import { mysqlFailures, mysqlInbox, mysqlStore } from 'tix-webhooks/mysql'
import { ddl, type PostgresDriver, postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { redisStore } from 'tix-webhooks/redis'
import { sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import { storeCases } from 'tix-webhooks/testing'

declare const betterSqlite: BetterSqlite.Database

export const redisStores = [
  redisStore(new Redis('redis://localhost'), { replicas: 1 }),
  redisStore(new Cluster(['redis://localhost'])),
  redisStore(createClient({ url: 'redis://localhost' })),
  redisStore(createCluster({ rootNodes: [{ url: 'redis://localhost' }] })),
]

const pool = new Pool()
const sql = postgres()
export const postgresStores = [postgresStore(pool, { table: 'app.webhooks' }), postgresStore(sql)]
export const migrated: Promise<void> = postgresStore(pool).migrate()
export const tables: string = ddl

const mysqlPool = mysql.createPool('mysql://localhost/app')
const mariadbPool = mariadb.createPool('mysql://localhost/app')
export const mysqlStores = [mysqlStore(mysqlPool, { table: 'app.webhooks' }), mysqlStore(mariadbPool)]
export const mysqlFailed = [mysqlFailures(mysqlPool), mysqlFailures(mariadbPool)]

export const sqliteStores = [sqliteStore(betterSqlite), sqliteStore(new Libsql('app.db'))]

tixWebhooks({
  secret: 's',
  inbox: postgresInbox(pool),
  namespace: 'orders',
  on: {
    'order.created': async (event, ctx) => {
      const tx: PoolClient = ctx.tx
      await tx.query('INSERT INTO orders VALUES ($1)', [event.data.order.id])
      // @ts-expect-error it is not the `sql` of the other library
      await ctx.tx`INSERT INTO orders`
    },
  },
})

tixWebhooks({
  secret: 's',
  inbox: mysqlInbox(mysqlPool),
  namespace: 'orders',
  on: {
    'order.created': async (event, ctx) => {
      const tx: PoolConnection = ctx.tx
      await tx.execute('INSERT INTO orders VALUES (?)', [event.data.order.id])
    },
  },
})

forFetch({
  secret: 's',
  inbox: mysqlInbox(mariadbPool),
  namespace: 'orders',
  on: {
    'order.created': async (event, ctx) => {
      const tx: mariadb.PoolConnection = ctx.tx
      await tx.query('INSERT INTO orders VALUES (?)', [event.data.order.id])
    },
  },
})

forFetch({
  secret: 's',
  inbox: postgresInbox(sql),
  namespace: 'orders',
  on: {
    'event.*': async (event, ctx) => {
      const tx: TransactionSql = ctx.tx
      await tx`INSERT INTO listings VALUES (${event.type})`
    },
  },
  onUnhandled: async (event, ctx) => {
    await ctx.tx`INSERT INTO others VALUES (${event.type})`
  },
})

declare const driver: PostgresDriver<{ mine: true }>
tixWebhooks({
  secret: 's',
  inbox: postgresInbox(driver),
  namespace: 'orders',
  on: { 'order.created': (_event, ctx) => ctx.tx.mine },
})

tixWebhooks({
  secret: 's',
  inbox: sqliteInbox(betterSqlite),
  namespace: 'orders',
  on: {
    'order.created': (event, ctx) => {
      const { changes } = ctx.tx.commit((db) =>
        db.prepare('DELETE FROM carts WHERE id = ?').run(event.data.order.id),
      )
      changes.toFixed()
    },
  },
})

tixWebhooks({
  secret: 's',
  store: sqliteStore(betterSqlite),
  namespace: 'orders',
  on: {
    'order.created': (_event, ctx) => {
      // @ts-expect-error without an inbox there is no transaction
      ctx.tx.query('')
    },
  },
})

export const ids: readonly string[] = storeCases.map(({ id }) => id)
