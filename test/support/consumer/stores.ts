// The stores over the clients' own types, and the testing kit, as a user writes them; compiled by test/repo/package.test.ts.
import type BetterSqlite from 'better-sqlite3'
import { Cluster, Redis } from 'ioredis'
import Libsql from 'libsql'
import * as mariadb from 'mariadb'
import mysql, { type PoolConnection } from 'mysql2/promise'
import { Pool, type PoolClient } from 'pg'
import postgres, { type TransactionSql } from 'postgres'
import { createClient, createCluster } from 'redis'
import { createReceiver, type Inbox } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { mysqlFailures, mysqlInbox, mysqlStore } from 'tix-webhooks/mysql'
import { ddl, type PostgresDriver, postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { redisStore } from 'tix-webhooks/redis'
import { type SqliteTransaction, sqliteInbox, sqliteStore } from 'tix-webhooks/sqlite'
import {
  callHandler,
  createTestClock,
  deliverWithRetries,
  scenarios,
  signedDelivery,
  storeCases,
} from 'tix-webhooks/testing'
import { knownEvents } from 'tix-webhooks/testing/fast-check'

declare const betterSqlite: BetterSqlite.Database
declare const driver: PostgresDriver<{ mine: true }>

const pool = new Pool()
const sql = postgres()
const mysqlPool = mysql.createPool('mysql://localhost/app')
const mariadbPool = mariadb.createPool('mysql://localhost/app')

export const stores = [
  redisStore(new Redis('redis://localhost'), { replicas: 1 }),
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
export const failures = [mysqlFailures(mysqlPool), mysqlFailures(mariadbPool)]
export const migrated: Promise<void> = postgresStore(pool).migrate()
export const texts: readonly string[] = [ddl, ...storeCases.map(({ id }) => id)]

export const onPg: Inbox<PoolClient> = postgresInbox(pool)
export const onPostgresJs: Inbox<TransactionSql> = postgresInbox(sql)
// @ts-expect-error its transaction is that of the other library
export const onOther: Inbox<TransactionSql> = postgresInbox(pool)
export const onDriver: Inbox<{ mine: true }> = postgresInbox(driver)
export const onMysql2: Inbox<PoolConnection> = mysqlInbox(mysqlPool)
export const onMariadb: Inbox<mariadb.PoolConnection> = mysqlInbox(mariadbPool)
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
