// The stores over the clients' own types, and the testing kit, as a user writes them; compiled by test/repo/package.test.ts.
import type BetterSqlite from 'better-sqlite3'
import { Cluster, Redis } from 'ioredis'
import Libsql from 'libsql'
import * as mariadb from 'mariadb'
import mysql from 'mysql2/promise'
import { Pool, type PoolClient } from 'pg'
import postgres, { type TransactionSql } from 'postgres'
import { createClient, createCluster } from 'redis'
import { createReceiver, type Inbox } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { mysqlStore } from 'tix-webhooks/mysql'
import { postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { redisStore } from 'tix-webhooks/redis'
import { type SqliteTransaction, sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import {
  callHandler,
  createTestClock,
  deliverWithRetries,
  scenarios,
  signedDelivery,
} from 'tix-webhooks/testing'
import { knownEvents } from 'tix-webhooks/testing/fast-check'

declare const betterSqlite: BetterSqlite.Database

const pool = new Pool()
const sql = postgres()
const mysqlPool = mysql.createPool('mysql://localhost/app')
const mariadbPool = mariadb.createPool('mysql://localhost/app')

export const stores = [
  redisStore(new Redis('redis://localhost'), { prefix: 'app:' }),
  redisStore(new Cluster(['redis://localhost'])),
  redisStore(createClient({ url: 'redis://localhost' })),
  redisStore(createCluster({ rootNodes: [{ url: 'redis://localhost' }] })),
  postgresStore(pool, { table: 'app.webhooks' }),
  postgresStore(sql),
  mysqlStore(mysqlPool, { table: 'app.webhooks' }),
  mysqlStore(mariadbPool),
  sqliteStore(betterSqlite),
  sqliteStore(new Libsql('app.db')),
]

export const onPg: Inbox<PoolClient> = postgresInbox(pool)
// @ts-expect-error its transaction is that of the other library
export const onOther: Inbox<TransactionSql> = postgresInbox(pool)
export const onSqlite: Inbox<SqliteTransaction<BetterSqlite.Database>> = sqliteInbox(betterSqlite)

createReceiver({
  secret: 's',
  inbox: sqliteInbox(betterSqlite),
  namespace: 'orders',
  on: {
    'order.created': (event, { tx }) =>
      tx
        .commit((db) => db.prepare('DELETE FROM carts WHERE id = ?').run(event.data.order.id))
        .changes.toFixed(),
  },
})

export async function tested(): Promise<readonly unknown[]> {
  const secret = 'whsec_test'
  const clock = createTestClock()
  const on = { 'order.created': async () => 'told' }
  const POST = tixWebhooks({ secret, on, now: clock.now })
  const delivery = await signedDelivery('order.created', { secret, data: { tickets: [{ tier: 'VIP' }, {}] } })
  // @ts-expect-error the field is total_cents
  await signedDelivery('order.created', { secret, data: { order: { totl_cents: 0 } } })
  const attempts = await deliverWithRetries(({ toRequest }) => POST(toRequest('/hooks')), delivery, { clock })
  const response: Response | undefined = attempts[0]?.answer
  const told: string = await callHandler(on, 'order.created', delivery.event)
  const init: RequestInit = delivery
  return [response, told, init, await scenarios('order.created', { secret }), knownEvents()]
}
