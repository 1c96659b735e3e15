import type { IncomingMessage } from 'node:http'
import type { Request as ExpressRequest } from 'express'
import type { FastifyRequest } from 'fastify'
import type { Context, Env } from 'hono'
import { createReceiver } from 'tix-webhooks'
import { tixWebhooks as forExpress } from 'tix-webhooks/express'
import { tixWebhooks as forFastify } from 'tix-webhooks/fastify'
import { tixWebhooks as forFetch } from 'tix-webhooks/fetch'
import { tixWebhooks as forHono, type HonoWebhooks } from 'tix-webhooks/hono'
import { tixWebhooks as forNode } from 'tix-webhooks/node'
import { instrument } from 'tix-webhooks/opentelemetry'
import { describe, expectTypeOf, test } from 'vitest'
import {
  type AppEnv,
  inbox,
  type OfExpress,
  type OfFastify,
  type Refund,
  type Shop,
  schemas,
  shops,
  type Tx,
} from './accounts.fixtures.js'

describe('an account, as the function returned it, is in the contexts', () => {
  test('of Express', () => {
    forExpress({
      account: (request: ExpressRequest<{ account: string }>) => shops.find(request.params.account),
      inbox,
      namespace: 'orders',
      schemas,
      key: (_event, { account, request }) => {
        expectTypeOf(account).toEqualTypeOf<Shop>()
        expectTypeOf(request).toEqualTypeOf<OfExpress>()
        return account.id
      },
      handledBefore: (_event, { account }) => {
        expectTypeOf(account).toEqualTypeOf<Shop>()
        return false
      },
      on: {
        'order.created': async (event, ctx) => {
          expectTypeOf(event).not.toBeAny()
          expectTypeOf(ctx.account).toEqualTypeOf<Shop>()
          expectTypeOf(ctx.tx).toEqualTypeOf<Tx>()
          expectTypeOf(ctx.request).toEqualTypeOf<OfExpress>()
        },
        'order.refunded': (event, { account }) => {
          expectTypeOf(event.data).toEqualTypeOf<Refund>()
          expectTypeOf(account).toEqualTypeOf<Shop>()
        },
        'event.*': (_event, { account }) => expectTypeOf(account.mail).toEqualTypeOf<string | null>(),
      },
      onUnhandled: (event, ctx) => {
        expectTypeOf(event).not.toBeAny()
        expectTypeOf(ctx.account).toEqualTypeOf<Shop>()
        expectTypeOf(ctx.tx).toEqualTypeOf<Tx>()
      },
      onDelivery: (record, ctx) => {
        expectTypeOf(record.account).toEqualTypeOf<string | undefined>()
        expectTypeOf(ctx.request).toEqualTypeOf<OfExpress>()
      },
      onError: (_error, ctx) => expectTypeOf(ctx.account).toEqualTypeOf<string | undefined>(),
    })
  })

  test('of Fastify', () => {
    forFastify({
      account: async (request: FastifyRequest<{ Params: { account: string } }>) =>
        shops.known(request.params.account),
      inbox: (request) => {
        expectTypeOf(request).toEqualTypeOf<OfFastify>()
        return inbox
      },
      namespace: 'orders',
      schemas,
      key: (_event, { account, request }) => {
        expectTypeOf(account).toEqualTypeOf<Shop>()
        expectTypeOf(request).toEqualTypeOf<OfFastify>()
        return account.id
      },
      on: {
        'order.refunded': (event, ctx) => {
          expectTypeOf(event.data).toEqualTypeOf<Refund>()
          expectTypeOf(ctx.account).toEqualTypeOf<Shop>()
          expectTypeOf(ctx.tx).toEqualTypeOf<Tx>()
          expectTypeOf(ctx.request).toEqualTypeOf<OfFastify>()
        },
      },
      onUnhandled: (_event, ctx) => expectTypeOf(ctx.account).toEqualTypeOf<Shop>(),
    })
  })

  test('of Hono', () => {
    const hooks = forHono({
      account: (c: Context<AppEnv>) => c.env.SHOPS.get(c.req.param('account') ?? ''),
      inbox,
      namespace: 'orders',
      schemas,
      key: (_event, { account, request }) => {
        expectTypeOf(account).toEqualTypeOf<Shop>()
        expectTypeOf(request).toEqualTypeOf<Context<AppEnv>>()
        return account.id
      },
      on: {
        'order.refunded': (event, ctx) => {
          expectTypeOf(event.data).toEqualTypeOf<Refund>()
          expectTypeOf(ctx.account).toEqualTypeOf<Shop>()
          expectTypeOf(ctx.tx).toEqualTypeOf<Tx>()
          expectTypeOf(ctx.request).toEqualTypeOf<Context<AppEnv>>()
        },
      },
      onUnhandled: (_event, ctx) => expectTypeOf(ctx.account).toEqualTypeOf<Shop>(),
    })
    expectTypeOf(hooks).toEqualTypeOf<HonoWebhooks<AppEnv>>()
  })

  test('without an annotation, where the request has no parameters of its own', () => {
    forFetch({
      account: async (request) => {
        expectTypeOf(request).toEqualTypeOf<Request>()
        return shops.find(new URL(request.url).pathname)
      },
      on: { 'event.*': (_event, { account }) => expectTypeOf(account).toEqualTypeOf<Shop>() },
    })
    forNode({
      account: (request) => {
        expectTypeOf(request).toEqualTypeOf<IncomingMessage>()
        return shops.known(request.url ?? '')
      },
      on: { 'event.*': (_event, { account }) => expectTypeOf(account).toEqualTypeOf<Shop>() },
    })
    forExpress({
      account: (request) => {
        expectTypeOf(request).toEqualTypeOf<ExpressRequest>()
        return shops.known(request.hostname)
      },
      on: { 'event.*': (_event, { account }) => expectTypeOf(account).toEqualTypeOf<Shop>() },
    })
    forFastify({
      account: (request) => {
        expectTypeOf(request).toEqualTypeOf<FastifyRequest>()
        return shops.known(request.hostname)
      },
      on: { 'event.*': (_event, { account }) => expectTypeOf(account).toEqualTypeOf<Shop>() },
    })
    forHono({
      account: (c) => {
        expectTypeOf(c).toEqualTypeOf<Context<Env>>()
        return shops.known(c.req.path)
      },
      on: { 'event.*': (_event, { account }) => expectTypeOf(account).toEqualTypeOf<Shop>() },
    })
    createReceiver({
      account: () => shops.known('a'),
      on: { 'event.*': (_event, { account }) => expectTypeOf(account).toEqualTypeOf<Shop>() },
    })
  })

  test('through instrument', () => {
    forExpress(
      instrument({
        account: (request: OfExpress) => shops.find(request.params.account),
        inbox,
        namespace: 'orders',
        schemas,
        on: {
          'order.refunded': (event, ctx) => {
            expectTypeOf(event.data).toEqualTypeOf<Refund>()
            expectTypeOf(ctx.account).toEqualTypeOf<Shop>()
            expectTypeOf(ctx.tx).toEqualTypeOf<Tx>()
            expectTypeOf(ctx.request).toEqualTypeOf<OfExpress>()
          },
        },
      }),
    )
    forFastify(
      instrument({
        account: (request: OfFastify) => shops.find(request.params.account),
        on: { 'event.*': (_event, ctx) => expectTypeOf(ctx.account).toEqualTypeOf<Shop>() },
      }),
    )
    forHono(
      instrument({
        account: (c: Context<AppEnv>) => c.env.SHOPS.get(c.req.path),
        on: { 'event.*': (_event, ctx) => expectTypeOf(ctx.account).toEqualTypeOf<Shop>() },
      }),
    )
    forFetch(
      instrument({
        account: (request) => shops.find(request.url),
        on: { 'event.*': (_event, ctx) => expectTypeOf(ctx.account).toEqualTypeOf<Shop>() },
      }),
    )
    forNode(
      instrument({
        account: (request) => shops.find(request.url ?? ''),
        on: { 'event.*': (_event, ctx) => expectTypeOf(ctx.account).toEqualTypeOf<Shop>() },
      }),
    )
  })
})
