import type { Request as ExpressRequest } from 'express'
import type { Context } from 'hono'
import {
  createReceiver,
  type Handlers,
  type Inbox,
  type OrderCreatedEvent,
  unchecked,
  type WebhookOptions,
} from 'tix-webhooks'
import { tixWebhooks as forExpress } from 'tix-webhooks/express'
import { tixWebhooks as forFastify } from 'tix-webhooks/fastify'
import { tixWebhooks as forFetch } from 'tix-webhooks/fetch'
import { tixWebhooks as forHono, type HonoWebhooks } from 'tix-webhooks/hono'
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
type OfExpress = ExpressRequest<{ account: string }>

declare const inbox: Inbox<Tx>
declare const shops: { find(id: string): Promise<Shop | null>; known(id: string): Shop | undefined }

const schemas = { 'order.refunded': unchecked<Refund>() }

describe('an account, as the function returned it, is in the contexts', () => {
  test('of every function', () => {
    forExpress({
      account: (request: OfExpress) => shops.find(request.params.account),
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
        'order.refunded': (event, ctx) => {
          expectTypeOf(event.data).toEqualTypeOf<Refund>()
          expectTypeOf(ctx.account).toEqualTypeOf<Shop>()
          expectTypeOf(ctx.tx).toEqualTypeOf<Tx>()
          expectTypeOf(ctx.request).toEqualTypeOf<OfExpress>()
        },
      },
      onUnhandled: (event, ctx) => {
        expectTypeOf(event).not.toBeAny()
        expectTypeOf(ctx.account).toEqualTypeOf<Shop>()
      },
      onDelivery: (record, ctx) => {
        expectTypeOf(record.account).toEqualTypeOf<string | undefined>()
        expectTypeOf(ctx.request).toEqualTypeOf<OfExpress>()
      },
      onError: (_error, ctx) => expectTypeOf(ctx.account).toEqualTypeOf<string | undefined>(),
    })
  })

  test('without an annotation, if the request has no parameters of its own', () => {
    forFetch({
      account: (request) => shops.find(request.url),
      on: { 'event.*': (_event, { account }) => expectTypeOf(account).toEqualTypeOf<Shop>() },
    })
    forExpress({
      account: (request) => shops.known(request.hostname),
      on: { 'event.*': (_event, { account }) => expectTypeOf(account).toEqualTypeOf<Shop>() },
    })
    forFastify({
      account: (request) => shops.known(request.hostname),
      on: { 'event.*': (_event, { account }) => expectTypeOf(account).toEqualTypeOf<Shop>() },
    })
    forHono({
      account: (c) => shops.known(c.req.path),
      on: { 'event.*': (_event, { account }) => expectTypeOf(account).toEqualTypeOf<Shop>() },
    })
  })
})

describe('an account function may return', () => {
  test('an object that it makes, nothing, or one of several types', () => {
    forFetch({
      account: (request) => (request.url === '' ? null : { id: 'a', secret: process.env.SECRET, plan: 1 }),
      on: { 'event.*': (_event, { account }) => expectTypeOf(account.plan).toEqualTypeOf<number>() },
    })
  })

  test('nothing without an id and a secret, and handlers read no other field', () => {
    // @ts-expect-error no secret
    forFetch({ account: () => ({ id: 'a' }), on: {} })
    // @ts-expect-error an id that is no text
    forFetch({ account: () => ({ id: 7, secret: 's' }), on: {} })
    forFetch({
      account: () => ({ id: 'a', secret: 's' }),
      // @ts-expect-error no plan
      on: { 'event.*': (_event, { account }) => account.plan },
    })
  })
})

test('handlers in other files are typed by satisfies, and fit only a receiver with their accounts', () => {
  const on = {
    'order.refunded': (event, { account, tx, request }) => {
      expectTypeOf(event.data).toEqualTypeOf<Refund>()
      expectTypeOf(account).toEqualTypeOf<Shop>()
      expectTypeOf(tx).toEqualTypeOf<Tx>()
      expectTypeOf(request).toEqualTypeOf<OfExpress>()
    },
  } satisfies Handlers<OfExpress, Tx, typeof schemas, Shop>
  const common = { inbox, namespace: 'orders', schemas }
  forExpress({ ...common, account: (request: OfExpress) => shops.find(request.params.account), on })
  // @ts-expect-error its accounts have no mail
  forExpress({ ...common, account: (_request: OfExpress) => ({ id: 'a', secret: 's' }), on })
  // @ts-expect-error it has no accounts
  forExpress({ ...common, secret: (request: OfExpress) => request.params.account, on })
})

test('after `on`, beside handlers of elsewhere, or beside a type argument, account needs an annotation', () => {
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
  // @ts-expect-error the same
  forHono<AppEnv>({ account: (c) => c.env.SHOPS.get(c.req.path), on: {} })
  // @ts-expect-error the same
  createReceiver<URL>({ account: (url) => shops.find(url.pathname), on: {} })
  expectTypeOf<'annotate the request of account, and pass no type argument'>().toExtend<
    ReturnType<NonNullable<WebhookOptions['account']>>
  >()
})

test('options that are instrumented in place keep the event of each kind, the transaction, the account and the parameters of the route', () => {
  forExpress(
    instrument({
      account: (request: ExpressRequest<{ account: string }>) => shops.find(request.params.account),
      inbox,
      namespace: 'orders',
      schemas,
      on: {
        'order.created': (event) => expectTypeOf(event).toEqualTypeOf<OrderCreatedEvent>(),
        'order.refunded': (event, ctx) => {
          expectTypeOf(event.data).toEqualTypeOf<Refund>()
          expectTypeOf(ctx.tx).toEqualTypeOf<Tx>()
          expectTypeOf(ctx.account).toEqualTypeOf<Shop>()
          expectTypeOf(ctx.request).toEqualTypeOf<ExpressRequest<{ account: string }>>()
        },
      },
    }),
  )
  const ofBindings = forHono(
    instrument({
      secret: (c: Context<AppEnv>) => c.req.path,
      schemas,
      on: { 'order.refunded': (event) => expectTypeOf(event.data).toEqualTypeOf<Refund>() },
    }),
  )
  expectTypeOf(ofBindings).toEqualTypeOf<HonoWebhooks<AppEnv>>()
})
