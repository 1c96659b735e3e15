import type { IncomingMessage } from 'node:http'
import type { Request as ExpressRequest } from 'express'
import type { FastifyRequest } from 'fastify'
import type { Context, Env } from 'hono'
import {
  type Account,
  createReceiver,
  type Handlers,
  type Inbox,
  unchecked,
  type WebhookOptions,
} from 'tix-webhooks'
import { tixWebhooks as forExpress } from 'tix-webhooks/express'
import { tixWebhooks as forFastify } from 'tix-webhooks/fastify'
import { tixWebhooks as forFetch } from 'tix-webhooks/fetch'
import { tixWebhooks as forHono, type HonoWebhooks } from 'tix-webhooks/hono'
import { tixWebhooks as forNode } from 'tix-webhooks/node'
import { instrument } from 'tix-webhooks/opentelemetry'
import { describe, expectTypeOf, test } from 'vitest'

/** A row, as an ORM types it: more fields, nullable ones, dates. */
interface Shop {
  id: string
  secret: string[]
  mail: string | null
  createdAt: Date
}
interface Tx {
  query(text: string): void
}
interface Refund {
  readonly cents: number
}
interface AppEnv {
  Bindings: { readonly SHOPS: ReadonlyMap<string, Shop> }
}
type Params = { account: string }
type OfExpress = ExpressRequest<Params>
type OfFastify = FastifyRequest<{ Params: Params }>

declare const inbox: Inbox<Tx>
declare const shops: { find(id: string): Promise<Shop | null>; known(id: string): Shop | undefined }
const schemas = { 'order.refunded': unchecked<Refund>() }

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
