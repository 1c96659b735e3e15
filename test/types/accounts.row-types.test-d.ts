import { eq } from 'drizzle-orm'
import type { NodePgDatabase } from 'drizzle-orm/node-postgres'
import { pgTable, text } from 'drizzle-orm/pg-core'
import type { Kysely } from 'kysely'
import type { Pool } from 'pg'
import { type Account, createReceiver, type Handlers, type WebhookOptions } from 'tix-webhooks'
import { tixWebhooks as forExpress } from 'tix-webhooks/express'
import { tixWebhooks as forFetch } from 'tix-webhooks/fetch'
import { tixWebhooks as forHono } from 'tix-webhooks/hono'
import { instrument } from 'tix-webhooks/opentelemetry'
import { describe, expectTypeOf, test } from 'vitest'
import {
  type AppEnv,
  inbox,
  type OfExpress,
  type Refund,
  type Shop,
  schemas,
  shops,
  type Tx,
} from './accounts.fixtures.js'

declare const drizzled: NodePgDatabase
declare const kysely: Kysely<{ shops: Shop }>
declare const pool: Pool

describe('an account function may return', () => {
  test('an object that it makes, or nothing', () => {
    forExpress({
      account: async (request: OfExpress) => {
        const shop = await shops.find(request.params.account)
        if (shop === null) return undefined
        return { id: `shop_${shop.id}`, secret: shop.secret, shop }
      },
      on: { 'event.*': (_event, { account }) => expectTypeOf(account.shop).toEqualTypeOf<Shop>() },
    })
    forFetch({
      account: (request) => (request.url === '' ? null : { id: 'a', secret: process.env.SECRET, plan: 1 }),
      on: { 'event.*': (_event, { account }) => expectTypeOf(account.plan).toEqualTypeOf<number>() },
    })
  })

  test('a row of Drizzle, of Kysely, or of pg', () => {
    const ofDrizzle = pgTable('shops', {
      id: text('id').primaryKey(),
      secret: text('secret').array().notNull(),
      mail: text('mail'),
    })
    forExpress({
      account: async (request: OfExpress) =>
        (await drizzled.select().from(ofDrizzle).where(eq(ofDrizzle.id, request.params.account)))[0],
      on: {
        'event.*': (_event, { account }) =>
          expectTypeOf(account).toEqualTypeOf<{ id: string; secret: string[]; mail: string | null }>(),
      },
    })
    forExpress({
      account: (request: OfExpress) =>
        kysely.selectFrom('shops').selectAll().where('id', '=', request.params.account).executeTakeFirst(),
      on: { 'event.*': (_event, { account }) => expectTypeOf(account.mail).toEqualTypeOf<string | null>() },
    })
    forExpress({
      account: async (request: OfExpress) =>
        (await pool.query<Shop>('SELECT * FROM shops WHERE id = $1', [request.params.account])).rows[0],
      on: { 'event.*': (_event, { account }) => expectTypeOf(account).toEqualTypeOf<Shop>() },
    })
  })

  test('one of several types', () => {
    forFetch({
      account: (request): Shop | (Account & { plan: string }) | undefined =>
        request.url === '' ? undefined : { id: 'a', secret: 's', plan: 'p' },
      on: {
        'event.*': (_event, { account }) =>
          expectTypeOf(account).toEqualTypeOf<Shop | (Account & { plan: string })>(),
      },
    })
  })
})

describe('handlers in other files', () => {
  const handlers = {
    'order.created': async (event, { account, tx }) => {
      expectTypeOf(event.data.order.id).toEqualTypeOf<string>()
      expectTypeOf(account).toEqualTypeOf<Shop>()
      expectTypeOf(tx).toEqualTypeOf<Tx>()
    },
    'order.refunded': (event, { request }) => {
      expectTypeOf(event.data).toEqualTypeOf<Refund>()
      expectTypeOf(request).toEqualTypeOf<OfExpress>()
    },
  } satisfies Handlers<OfExpress, Tx, typeof schemas, Shop>

  test('are typed by satisfies, and fit', () => {
    forExpress({
      account: (request: OfExpress) => shops.find(request.params.account),
      inbox,
      namespace: 'orders',
      schemas,
      on: handlers,
    })
  })

  test('do not fit a receiver whose accounts are others', () => {
    forExpress({
      account: (_request: OfExpress) => ({ id: 'a', secret: 's' }),
      inbox,
      namespace: 'orders',
      schemas,
      // @ts-expect-error its accounts have no mail
      on: handlers,
    })
    forExpress({
      secret: (request: OfExpress) => request.params.account,
      inbox,
      namespace: 'orders',
      schemas,
      // @ts-expect-error it has no accounts
      on: handlers,
    })
  })
})

describe('an account function after `on`, beside handlers of elsewhere, or beside a type argument', () => {
  test('needs an annotation instead, and its error says so', () => {
    forExpress({
      on: { 'event.*': (_event, { account }) => expectTypeOf(account).toEqualTypeOf<Shop>() },
      account: (request: OfExpress) => shops.find(request.params.account),
    })
    forExpress({
      on: { 'event.*': (_event, { account }) => expectTypeOf(account).toBeUndefined() },
      // @ts-expect-error is not assignable to type '"annotate the request of account, and pass no type argument" | null | undefined'
      account: (request) => shops.find(request.hostname),
    })
    const elsewhere = {
      'order.created': (_event, ctx) => ctx.account.mail,
    } satisfies Handlers<Request, undefined, Record<never, never>, Shop>
    // @ts-expect-error the same, and then the handlers do not fit
    forFetch({ account: (request) => shops.known(request.url), on: elsewhere })
    forFetch({ account: (request: Request) => shops.known(request.url), on: elsewhere })
    forFetch(instrument({ account: (request: Request) => shops.known(request.url), on: elsewhere }))
    forFetch({
      on: { ...elsewhere, 'event.*': (_event, { account }) => expectTypeOf(account).toEqualTypeOf<Shop>() },
      account: async (request: Request) => shops.known(request.url),
    })
    // @ts-expect-error the same
    forHono<AppEnv>({ account: (c) => c.env.SHOPS.get(c.req.path), on: {} })
    // @ts-expect-error the same
    createReceiver<URL>({ account: (url) => shops.find(url.pathname), on: {} })
    expectTypeOf<'annotate the request of account, and pass no type argument'>().toExtend<
      ReturnType<NonNullable<WebhookOptions['account']>>
    >()
  })
})

describe('what is refused', () => {
  test('an account without an id or a secret', () => {
    // @ts-expect-error no secret
    forFetch({ account: () => ({ id: 'a' }), on: {} })
    // @ts-expect-error an id that is no text
    forFetch({ account: () => ({ id: 7, secret: 's' }), on: {} })
    // @ts-expect-error only a secret
    forFetch({ account: async () => 'whsec_1', on: {} })
  })

  test('a field that the account has not', () => {
    forFetch({
      account: () => ({ id: 'a', secret: 's' }),
      // @ts-expect-error no plan
      on: { 'event.*': (_event, { account }) => account.plan },
    })
  })
})
