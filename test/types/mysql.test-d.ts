import { drizzle } from 'drizzle-orm/mysql2'
import type { Context } from 'hono'
import type { Kysely, Transaction } from 'kysely'
import type { PoolConnection as MariadbConnection, Pool as MariadbPool } from 'mariadb'
import type { Pool as CallbackPool } from 'mysql2'
import type { Connection, Pool, PoolConnection } from 'mysql2/promise'
import { createReceiver, type IdempotencyStore, type Inbox, type WebhookOptions } from 'tix-webhooks'
import { tixWebhooks as express } from 'tix-webhooks/express'
import { tixWebhooks as fastify } from 'tix-webhooks/fastify'
import { tixWebhooks as fetch } from 'tix-webhooks/fetch'
import { tixWebhooks as hono } from 'tix-webhooks/hono'
import {
  ddl,
  type MysqlDriver,
  type MysqlFailures,
  type MysqlInbox,
  type MysqlStore,
  mysqlFailures,
  mysqlInbox,
  mysqlStore,
  type TransactionOf,
} from 'tix-webhooks/mysql'
import { tixWebhooks as node } from 'tix-webhooks/node'
import { describe, expectTypeOf, test } from 'vitest'

interface Tables {
  orders: { id: string }
}

declare const pool: Pool
declare const mariadbPool: MariadbPool
declare const callbackPool: CallbackPool
declare const connection: Connection
const drizzleOnConnection = drizzle({ client: undefined as unknown as PoolConnection })
declare const kyselyDb: Kysely<Tables>
declare const kyselyDriver: MysqlDriver<Transaction<Tables>>

const common = { secret: 's', namespace: 'n' } as const

describe('mysqlInbox', () => {
  test('has the transaction of the library that it is given', () => {
    expectTypeOf(mysqlInbox(pool)).toEqualTypeOf<MysqlInbox<PoolConnection>>()
    expectTypeOf(mysqlInbox(mariadbPool)).toEqualTypeOf<MysqlInbox<MariadbConnection>>()
    expectTypeOf(mysqlInbox(kyselyDriver)).toEqualTypeOf<MysqlInbox<Transaction<Tables>>>()
    expectTypeOf(mysqlInbox(pool, { table: 't', as: (client) => drizzle({ client }) })).toEqualTypeOf<
      MysqlInbox<typeof drizzleOnConnection>
    >()
    expectTypeOf(mysqlInbox(mariadbPool, { as: (one) => ({ one }) })).toEqualTypeOf<
      MysqlInbox<{ one: MariadbConnection }>
    >()
    expectTypeOf(mysqlInbox(callbackPool.promise())).toEqualTypeOf<MysqlInbox<PoolConnection>>()
    expectTypeOf(mysqlInbox(pool, { table: 'a.b', idleTimeoutSeconds: 5 })).toExtend<Inbox<PoolConnection>>()
    expectTypeOf<TransactionOf<Pool>>().toEqualTypeOf<PoolConnection>()
    expectTypeOf<TransactionOf<MariadbPool>>().toEqualTypeOf<MariadbConnection>()
  })

  test('gives it to the handlers of each framework, written in place', () => {
    createReceiver({
      ...common,
      inbox: mysqlInbox(pool),
      on: { 'order.created': (_event, ctx) => expectTypeOf(ctx.tx).toEqualTypeOf<PoolConnection>() },
      onUnhandled: (_event, ctx) => expectTypeOf(ctx.tx).toEqualTypeOf<PoolConnection>(),
    })
    express({
      ...common,
      inbox: mysqlInbox(pool),
      on: { 'order.created': (_event, ctx) => expectTypeOf(ctx.tx).toEqualTypeOf<PoolConnection>() },
    })
    fastify({
      ...common,
      inbox: mysqlInbox(mariadbPool),
      on: { 'event.*': (_event, ctx) => expectTypeOf(ctx.tx).toEqualTypeOf<MariadbConnection>() },
    })
    hono({
      ...common,
      inbox: mysqlInbox(kyselyDriver),
      on: {
        'order.created': (_event, ctx) => {
          expectTypeOf(ctx.tx).toEqualTypeOf<Transaction<Tables>>()
          expectTypeOf(ctx.request).toExtend<Context>()
        },
      },
    })
    fetch({
      ...common,
      inbox: mysqlInbox(pool, { as: (client) => drizzle({ client }) }),
      on: {
        'order.created': (_event, ctx) => expectTypeOf(ctx.tx).toEqualTypeOf<typeof drizzleOnConnection>(),
      },
    })
    node({
      ...common,
      inbox: mysqlInbox(pool),
      failures: mysqlFailures(pool),
      on: { 'order.created': (_event, ctx) => expectTypeOf(ctx.tx).toEqualTypeOf<PoolConnection>() },
    })
  })

  test('leaves handlers without an inbox without a transaction', () => {
    node({
      ...common,
      store: mysqlStore(pool),
      on: { 'order.created': (_event, ctx) => expectTypeOf(ctx.tx).toEqualTypeOf<undefined>() },
    })
  })

  test('fits options that are written beside the call', () => {
    const options: WebhookOptions<unknown, PoolConnection> = { ...common, inbox: mysqlInbox(pool), on: {} }
    createReceiver(options)
    const inbox = mysqlInbox(mariadbPool)
    // @ts-expect-error the handlers would get another library's transaction
    const wrong: WebhookOptions<unknown, PoolConnection> = { ...common, inbox, on: {} }
    void wrong
  })

  test('refuses anything but a pool', () => {
    // @ts-expect-error one connection cannot serve concurrent deliveries
    mysqlInbox(connection)
    // @ts-expect-error it has callbacks: its promise() is what works
    mysqlInbox(callbackPool)
    // @ts-expect-error it needs a driver
    mysqlInbox(drizzleOnConnection)
    // @ts-expect-error it needs a driver
    mysqlInbox(kyselyDb)
    // @ts-expect-error nothing
    mysqlInbox(undefined)
    // @ts-expect-error a typo
    mysqlInbox(pool, { idleTimeoutSecond: 1 })
    // @ts-expect-error a driver itself decides what handlers get
    mysqlInbox(kyselyDriver, { as: (client: PoolConnection) => client })
  })
})

describe('mysqlStore and mysqlFailures', () => {
  test('take a pool of mysql2 or of mariadb', () => {
    expectTypeOf(mysqlStore(pool)).toEqualTypeOf<MysqlStore>()
    expectTypeOf(mysqlStore(mariadbPool, { table: 't', purgeEverySeconds: 60 })).toExtend<IdempotencyStore>()
    expectTypeOf(mysqlFailures(pool)).toEqualTypeOf<MysqlFailures>()
    expectTypeOf(mysqlFailures(mariadbPool, { retentionSeconds: 864_000 })).toEqualTypeOf<MysqlFailures>()
    expectTypeOf(mysqlFailures(kyselyDriver)).toEqualTypeOf<MysqlFailures>()
    expectTypeOf(ddl).toEqualTypeOf<string>()
  })

  test('refuse anything but a pool', () => {
    // @ts-expect-error one connection cannot serve concurrent deliveries
    mysqlStore(connection)
    // @ts-expect-error it has callbacks
    mysqlStore(callbackPool)
    // @ts-expect-error not a pool
    mysqlStore(kyselyDb)
    // @ts-expect-error a store needs no transactions
    mysqlStore(kyselyDriver)
    // @ts-expect-error a typo
    mysqlStore(pool, { tabel: 't' })
    // @ts-expect-error not a pool
    mysqlFailures(kyselyDb)
    // @ts-expect-error failures hand no transaction to a handler
    mysqlFailures(pool, { as: (client: PoolConnection) => client })
  })
})

describe('isNewest', () => {
  const change = { subject: 's', at: new Date() }

  test('answers for one change, or for each of a list', () => {
    const inbox = mysqlInbox(pool)
    expectTypeOf(inbox.isNewest({} as PoolConnection, change)).toEqualTypeOf<Promise<boolean>>()
    expectTypeOf(inbox.isNewest({} as PoolConnection, [change] as const)).toEqualTypeOf<Promise<boolean[]>>()
    // @ts-expect-error it needs a date
    inbox.isNewest({} as PoolConnection, { subject: 's' })
    // @ts-expect-error a number is no date
    inbox.isNewest({} as PoolConnection, { subject: 's', at: 1763805600000 })
  })

  test('takes the transaction of the library alone', () => {
    expectTypeOf(mysqlInbox(mariadbPool).isNewest).parameter(0).toEqualTypeOf<MariadbConnection>()
    expectTypeOf(mysqlInbox(kyselyDriver).isNewest).parameter(0).toEqualTypeOf<Transaction<Tables>>()
    // @ts-expect-error it is not in the transaction
    mysqlInbox(pool).isNewest(pool, change)
  })
})
