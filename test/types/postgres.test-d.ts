import { drizzle } from 'drizzle-orm/node-postgres'
import type { Context } from 'hono'
import type { Kysely, Transaction } from 'kysely'
import type { Client, Pool, PoolClient } from 'pg'
import type { Sql, TransactionSql } from 'postgres'
import { createReceiver, type IdempotencyStore, type Inbox, type WebhookOptions } from 'tix-webhooks'
import { tixWebhooks as express } from 'tix-webhooks/express'
import { tixWebhooks as fastify } from 'tix-webhooks/fastify'
import { tixWebhooks as fetch } from 'tix-webhooks/fetch'
import { tixWebhooks as hono } from 'tix-webhooks/hono'
import { tixWebhooks as node } from 'tix-webhooks/node'
import {
  ddl,
  type PostgresDriver,
  type PostgresInbox,
  type PostgresStore,
  postgresInbox,
  postgresStore,
  type TransactionOf,
} from 'tix-webhooks/postgres'
import { describe, expectTypeOf, test } from 'vitest'

interface Tables {
  orders: { id: string }
}
type DrizzleTx = Parameters<Parameters<ReturnType<typeof drizzle>['transaction']>[0]>[0]

declare const pool: Pool
declare const sql: Sql
declare const typedSql: Sql<{ bigint: bigint }>
declare const client: Client
const drizzleOnClient = drizzle(undefined as unknown as PoolClient)
declare const drizzleDb: ReturnType<typeof drizzle>
declare const kyselyDb: Kysely<Tables>
declare const drizzleDriver: PostgresDriver<DrizzleTx>
declare const kyselyDriver: PostgresDriver<Transaction<Tables>>

const common = { secret: 's', namespace: 'n' } as const

describe('postgresInbox', () => {
  test('has the transaction of the library that it is given', () => {
    expectTypeOf(postgresInbox(pool)).toEqualTypeOf<PostgresInbox<PoolClient>>()
    expectTypeOf(postgresInbox(sql)).toEqualTypeOf<PostgresInbox<TransactionSql>>()
    expectTypeOf(postgresInbox(typedSql)).toEqualTypeOf<PostgresInbox<TransactionSql<{ bigint: bigint }>>>()
    expectTypeOf(postgresInbox(drizzleDriver)).toEqualTypeOf<PostgresInbox<DrizzleTx>>()
    expectTypeOf(postgresInbox(pool, { table: 't', as: (client) => drizzle(client) })).toEqualTypeOf<
      PostgresInbox<typeof drizzleOnClient>
    >()
    expectTypeOf(postgresInbox(kyselyDriver)).toEqualTypeOf<PostgresInbox<Transaction<Tables>>>()
    expectTypeOf(postgresInbox(pool, { table: 'a.b', idleTimeoutSeconds: 5 })).toExtend<Inbox<PoolClient>>()
    expectTypeOf<TransactionOf<Pool>>().toEqualTypeOf<PoolClient>()
    expectTypeOf<TransactionOf<Sql>>().toEqualTypeOf<TransactionSql>()
  })

  test('gives it to the handlers of each framework, written in place', () => {
    createReceiver({
      ...common,
      inbox: postgresInbox(pool),
      on: { 'order.created': (_event, ctx) => expectTypeOf(ctx.tx).toEqualTypeOf<PoolClient>() },
      onUnhandled: (_event, ctx) => expectTypeOf(ctx.tx).toEqualTypeOf<PoolClient>(),
    })
    express({
      ...common,
      inbox: postgresInbox(pool),
      on: { 'order.created': (_event, ctx) => expectTypeOf(ctx.tx).toEqualTypeOf<PoolClient>() },
    })
    fastify({
      ...common,
      inbox: postgresInbox(sql),
      on: { 'event.*': (_event, ctx) => expectTypeOf(ctx.tx).toEqualTypeOf<TransactionSql>() },
    })
    hono({
      ...common,
      inbox: postgresInbox(kyselyDriver),
      on: {
        'order.created': (_event, ctx) => {
          expectTypeOf(ctx.tx).toEqualTypeOf<Transaction<Tables>>()
          expectTypeOf(ctx.request).toExtend<Context>()
        },
      },
    })
    fetch({
      ...common,
      inbox: postgresInbox(drizzleDriver),
      on: { 'order.created': (_event, ctx) => expectTypeOf(ctx.tx).toEqualTypeOf<DrizzleTx>() },
    })
    node({
      ...common,
      inbox: postgresInbox(pool),
      on: { 'order.created': (_event, ctx) => expectTypeOf(ctx.tx).toEqualTypeOf<PoolClient>() },
    })
  })

  test('leaves handlers without an inbox without a transaction', () => {
    node({
      ...common,
      store: postgresStore(pool),
      on: { 'order.created': (_event, ctx) => expectTypeOf(ctx.tx).toEqualTypeOf<undefined>() },
    })
    node({ secret: 's', on: { 'order.created': (_event, ctx) => expectTypeOf(ctx.tx).toBeUndefined() } })
  })

  test('fits options that are written beside the call', () => {
    const options: WebhookOptions<unknown, PoolClient> = { ...common, inbox: postgresInbox(pool), on: {} }
    createReceiver(options)
    // @ts-expect-error the handlers would get another library's transaction
    const wrong: WebhookOptions<unknown, PoolClient> = { ...common, inbox: postgresInbox(sql), on: {} }
    void wrong
  })

  test('refuses anything but a pool', () => {
    // @ts-expect-error one connection cannot serve concurrent deliveries
    postgresInbox(client)
    // @ts-expect-error it needs a driver
    postgresInbox(drizzleDb)
    // @ts-expect-error it needs a driver
    postgresInbox(kyselyDb)
    // @ts-expect-error nothing
    postgresInbox(undefined)
    // @ts-expect-error a typo
    postgresInbox(pool, { idleTimeoutSecond: 1 })
  })
})

describe('postgresStore', () => {
  test('takes a pool of pg, or the sql of postgres.js', () => {
    expectTypeOf(postgresStore(pool)).toEqualTypeOf<PostgresStore>()
    expectTypeOf(postgresStore(sql, { table: 't', purgeEverySeconds: 60 })).toExtend<IdempotencyStore>()
    postgresStore(typedSql)
    expectTypeOf(ddl).toEqualTypeOf<string>()
  })

  test('refuses anything but a pool', () => {
    // @ts-expect-error one connection cannot serve concurrent deliveries
    postgresStore(client)
    // @ts-expect-error not a pool
    postgresStore(drizzleDb)
    // @ts-expect-error not a pool
    postgresStore(kyselyDb)
    // @ts-expect-error a store needs no transactions
    postgresStore(kyselyDriver)
    // @ts-expect-error a typo
    postgresStore(pool, { tabel: 't' })
  })
})

describe('isNewest', () => {
  const change = { subject: 's', at: new Date() }

  test('answers for one change, or for each of a list', () => {
    const inbox = postgresInbox(pool)
    expectTypeOf(inbox.isNewest({} as PoolClient, change)).toEqualTypeOf<Promise<boolean>>()
    expectTypeOf(inbox.isNewest({} as PoolClient, [change] as const)).toEqualTypeOf<Promise<boolean[]>>()
    // @ts-expect-error it needs a date
    inbox.isNewest({} as PoolClient, { subject: 's' })
    // @ts-expect-error a number is no date
    inbox.isNewest({} as PoolClient, { subject: 's', at: 1763805600000 })
  })

  test('takes the transaction of the library alone', () => {
    expectTypeOf(postgresInbox(sql).isNewest).parameter(0).toEqualTypeOf<TransactionSql>()
    expectTypeOf(postgresInbox(kyselyDriver).isNewest).parameter(0).toEqualTypeOf<Transaction<Tables>>()
    // @ts-expect-error it is not in the transaction
    postgresInbox(pool).isNewest(pool, change)
  })
})
