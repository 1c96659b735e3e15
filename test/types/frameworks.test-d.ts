import { createServer as createHttpServer, type IncomingMessage } from 'node:http'
import express, { type Request as ExpressRequest } from 'express'
import fastify, { type FastifyBaseLogger, type FastifyRequest, type FastifyTypeProvider } from 'fastify'
import { type Context, Hono } from 'hono'
import { type Inbox, unchecked } from 'tix-webhooks'
import { tixWebhooks as onExpress } from 'tix-webhooks/express'
import { tixWebhooks as onFastify } from 'tix-webhooks/fastify'
import { type FetchWebhooks, tixWebhooks as onFetch } from 'tix-webhooks/fetch'
import { type HonoWebhooks, tixWebhooks as onHono } from 'tix-webhooks/hono'
import { tixWebhooks as onNode } from 'tix-webhooks/node'
import { describe, expectTypeOf, test } from 'vitest'

const options = { secret: 's', on: { 'order.created': () => {} } }
const schemas = { 'order.refunded': unchecked<{ cents: number }>() }

declare const inbox: Inbox<{ query(text: string): void }>

interface AppEnv {
  Bindings: { readonly TIX_SIGNING_SECRET: string }
  Variables: { readonly tenant: string }
}

describe('the functions of the options get the request of the framework, and the event of their kind', () => {
  test('on Express and on Fastify', () => {
    onExpress({ secret: (request) => request.header('x-tenant'), on: {} })
    onFastify({
      secret: (request) => request.hostname,
      schemas,
      on: { 'order.refunded': (event) => expectTypeOf(event.data).toEqualTypeOf<{ cents: number }>() },
    })
  })

  test('on Hono', () => {
    const hooks = onHono({
      secret: (c: Context<AppEnv>) => c.env.TIX_SIGNING_SECRET,
      schemas,
      on: {
        'order.refunded': (event, { request }) => {
          expectTypeOf(event.data).toEqualTypeOf<{ cents: number }>()
          expectTypeOf(request).toEqualTypeOf<Context<AppEnv>>()
        },
      },
    })
    expectTypeOf(hooks).toEqualTypeOf<HonoWebhooks<AppEnv>>()
    new Hono<AppEnv>().post('/hooks', hooks)
  })

  test('of node:http', () => {
    onNode({
      secret: (request) => {
        expectTypeOf(request).toEqualTypeOf<IncomingMessage>()
        return 's'
      },
      schemas,
      on: {
        'order.refunded': (event, { request }) => {
          expectTypeOf(event.data).toEqualTypeOf<{ cents: number }>()
          expectTypeOf(request).toEqualTypeOf<IncomingMessage>()
        },
      },
    })
  })
})

describe('a function that says which parameters its route has', () => {
  type Params = { account: string }
  type OfExpress = ExpressRequest<Params>
  type OfFastify = FastifyRequest<{ Params: Params }>

  test('gives them to all functions of Express', () => {
    const hooks = onExpress({
      secret: (request: OfExpress) => request.params.account,
      key: (_event, { request }) => request.params.account,
      on: { 'order.created': (_event, ctx) => expectTypeOf(ctx.request).toEqualTypeOf<OfExpress>() },
    })
    express().post('/hooks/:account', hooks)
    express.Router({ mergeParams: true }).post('/', hooks)
  })

  test('gives them to all functions of Fastify', () => {
    onFastify({
      secret: (request: OfFastify) => request.params.account,
      inbox: (request) => {
        expectTypeOf(request).toEqualTypeOf<OfFastify>()
        return inbox
      },
      namespace: 'orders',
      on: {
        'order.created': (_event, ctx) => {
          expectTypeOf(ctx.request).toEqualTypeOf<OfFastify>()
          expectTypeOf(ctx.tx.query).toEqualTypeOf<(text: string) => void>()
        },
      },
    })
    onFastify({
      secret: (request: FastifyRequest<{ Params: Params; Querystring: { live: string } }>) =>
        request.params.account + request.query.live,
      on: { 'event.*': (_event, ctx) => expectTypeOf(ctx.request.params).toEqualTypeOf<Params>() },
    })
  })
})

test('the handler that is made fits whatever a platform passes second', () => {
  interface ExecutionContext {
    waitUntil(promise: Promise<unknown>): void
    passThroughOnException(): void
  }
  const hooks: FetchWebhooks = onFetch(options)
  const next: (request: Request, context: { params: Promise<{ id: string }> }) => unknown = hooks
  const worker: {
    fetch(request: Request, env: { SECRET: string }, ctx: ExecutionContext): Promise<Response>
  } = { fetch: hooks }
  for (const fits of [next, worker.fetch]) expectTypeOf(fits).toBeFunction()
  expectTypeOf(hooks).toBeCallableWith({} as Request, {} as ExecutionContext)
})

describe('the route options of Fastify fit an app', () => {
  interface AppLogger extends FastifyBaseLogger {
    audit(line: string): void
  }
  interface AppTypeProvider extends FastifyTypeProvider {
    readonly validator: this['schema'] extends { type: 'object' } ? { ok: boolean } : unknown
    readonly serializer: this['schema'] extends { type: 'object' } ? { ok: boolean } : unknown
  }
  const loggerInstance = {} as AppLogger
  const https = { key: '', cert: '' }
  const schema = { response: { 200: { type: 'object' } } } as const
  const hooks = onFastify(options)

  test('with its own logger, server and type provider', () => {
    const app = fastify({ loggerInstance })
    app.post('/hooks', hooks)
    fastify({ http2: true }).post('/hooks', hooks)
    fastify({ https }).post('/hooks', hooks)
    fastify({ serverFactory: (handler) => createHttpServer(handler) }).post('/hooks', hooks)
    fastify({ http2: true, loggerInstance }).withTypeProvider<AppTypeProvider>().post('/hooks', hooks)
  })

  test('beside a response schema, and in `route`', () => {
    fastify().post('/hooks', { ...hooks, schema })
    fastify()
      .withTypeProvider<AppTypeProvider>()
      .route({ method: 'POST', url: '/', ...hooks, schema })
  })
})

test('a handler of another adapter does not compile', () => {
  const app = express()
  // @ts-expect-error route options of Fastify
  app.post('/hooks', onFastify(options))
  // @ts-expect-error a handler of Hono, which could be taken for an error handler
  app.post('/hooks', onHono(options))
  // @ts-expect-error a handler of a Request, which could be taken for an error handler
  app.post('/hooks', onFetch(options))
  // @ts-expect-error a handler of Express
  new Hono().post('/hooks', onExpress(options))
  // @ts-expect-error a handler of a Request
  new Hono().post('/hooks', onFetch(options))
  // @ts-expect-error a handler of node:http
  new Hono().post('/hooks', onNode(options))
  // @ts-expect-error a handler of Express
  fastify().post('/hooks', onExpress(options))
  // @ts-expect-error a handler of Hono
  createHttpServer(onHono(options))
})
