import express, { type Request } from 'express'
import fastify, { type FastifyRequest } from 'fastify'
import { type HandlerContext, type Inbox, memoryStore, type OrderCreatedEvent, unchecked } from 'tix-webhooks'
import { tixWebhooks as forExpress } from 'tix-webhooks/express'
import { tixWebhooks as forFastify } from 'tix-webhooks/fastify'
import { instrument } from 'tix-webhooks/opentelemetry'
import { describe, expectTypeOf, test } from 'vitest'

type Params = { account: string }
type OfExpress = Request<Params>
type OfFastify = FastifyRequest<{ Params: Params }>

declare const inbox: Inbox<{ query(text: string): void }>
declare function accountOf(request: object): string
declare function handleOrder(event: OrderCreatedEvent, ctx: HandlerContext): Promise<void>

describe('a function that says which parameters its route has', () => {
  test('gives them to all functions of Express', () => {
    const hooks = forExpress({
      secret: (request: Request<{ account: string }>) => request.params.account,
      store: (request) => {
        expectTypeOf(request).toEqualTypeOf<OfExpress>()
        return memoryStore()
      },
      namespace: 'orders',
      key: (event, { request }) => {
        expectTypeOf(event).not.toBeAny()
        expectTypeOf(request).toEqualTypeOf<OfExpress>()
        return null
      },
      schemas: { 'order.refunded': unchecked<{ cents: number }>() },
      on: {
        'order.refunded': (event, ctx) => {
          expectTypeOf(event.data).toEqualTypeOf<{ cents: number }>()
          expectTypeOf(ctx.request).toEqualTypeOf<OfExpress>()
        },
        'order.created': handleOrder,
      },
      onUnhandled: (_event, ctx) => expectTypeOf(ctx.request.params).toEqualTypeOf<Params>(),
      onError: (_error, ctx) => expectTypeOf(ctx.request).toEqualTypeOf<OfExpress>(),
    })
    express().post('/hooks/:account', hooks)
    express.Router({ mergeParams: true }).post('/', hooks)
    // @ts-expect-error no such parameter
    forExpress({ secret: (request: OfExpress) => request.params.tenant, on: {} })
  })

  test('gives them to all functions of Fastify', () => {
    const hooks = forFastify({
      secret: (request: FastifyRequest<{ Params: { account: string } }>) => request.params.account,
      inbox: (request) => {
        expectTypeOf(request).toEqualTypeOf<OfFastify>()
        return inbox
      },
      namespace: 'orders',
      key: (event, { request }) => {
        expectTypeOf(event).not.toBeAny()
        expectTypeOf(request).toEqualTypeOf<OfFastify>()
        return null
      },
      schemas: { 'order.refunded': unchecked<{ cents: number }>() },
      on: {
        'order.refunded': (event, ctx) => {
          expectTypeOf(event.data).toEqualTypeOf<{ cents: number }>()
          expectTypeOf(ctx.request).toEqualTypeOf<OfFastify>()
          expectTypeOf(ctx.tx.query).toEqualTypeOf<(text: string) => void>()
        },
      },
      onUnhandled: (_event, ctx) => expectTypeOf(ctx.request.params).toEqualTypeOf<Params>(),
      onError: (_error, ctx) => expectTypeOf(ctx.request).toEqualTypeOf<OfFastify>(),
    })
    fastify().post('/hooks/:account', hooks)
    fastify({ http2: true }).post<{ Params: Params }>('/hooks/:account', hooks)
    // @ts-expect-error no such parameter
    forFastify({ secret: (request: OfFastify) => request.params.tenant, on: {} })
  })

  test('may stand in any option, and beside a body', () => {
    forExpress({
      secret: 's',
      store: (_request: OfExpress) => memoryStore(),
      namespace: 'orders',
      on: { 'event.*': (_event, ctx) => expectTypeOf(ctx.request).toEqualTypeOf<OfExpress>() },
    })
    forFastify({
      secret: (request: FastifyRequest<{ Params: Params; Querystring: { live: string } }>) =>
        request.params.account + request.query.live,
      on: { 'event.*': (_event, ctx) => expectTypeOf(ctx.request.params).toEqualTypeOf<Params>() },
    })
    forExpress({
      secret: 's',
      on: {
        'event.*': async (_event, ctx: HandlerContext<OfExpress>) => void ctx.request.params.account.at(0),
      },
    })
  })

  test('passes through a function around the options', () => {
    forExpress(
      instrument({
        secret: (request: OfExpress) => request.params.account,
        on: { 'event.*': (_event, ctx) => expectTypeOf(ctx.request).toEqualTypeOf<OfExpress>() },
      }),
    )
    forFastify(
      instrument({
        secret: (request: OfFastify) => request.params.account,
        on: { 'event.*': (_event, ctx) => expectTypeOf(ctx.request).toEqualTypeOf<OfFastify>() },
      }),
    )
  })
})

describe('functions that do not', () => {
  test('get the plain request, whatever a function that is written elsewhere takes', () => {
    forExpress({
      secret: (request) => {
        expectTypeOf(request).toEqualTypeOf<Request>()
        return accountOf(request)
      },
      store: memoryStore(),
      namespace: 'orders',
      on: {
        'order.created': handleOrder,
        'event.*': (_event, ctx) => expectTypeOf(ctx.request).toEqualTypeOf<Request>(),
      },
    })
    forFastify({
      secret: (request) => {
        expectTypeOf(request).toEqualTypeOf<FastifyRequest>()
        return accountOf(request)
      },
      store: memoryStore(),
      namespace: 'orders',
      on: {
        'order.created': handleOrder,
        'event.*': (_event, ctx) => expectTypeOf(ctx.request).toEqualTypeOf<FastifyRequest>(),
      },
    })
  })

  test('get it through a function around the options too', () => {
    forExpress(
      instrument({
        secret: (request) => request.hostname,
        on: { 'event.*': (_event, ctx) => expectTypeOf(ctx.request).toEqualTypeOf<Request>() },
      }),
    )
    forFastify(
      instrument({
        secret: (request) => request.hostname,
        on: { 'event.*': (_event, ctx) => expectTypeOf(ctx.request).toEqualTypeOf<FastifyRequest>() },
      }),
    )
  })
})
