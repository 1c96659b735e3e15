// An app as a user writes it, compiled against the packed package by test/repo/package.test.ts.
import { createServer } from 'node:http'
import { metrics, trace } from '@opentelemetry/api'
import express, { type Request as ExpressRequest } from 'express'
import Fastify, { type FastifyRequest } from 'fastify'
import { type Context, Hono } from 'hono'
import { memoryStore, unchecked } from 'tix-webhooks'
import { tixWebhooks as forExpress } from 'tix-webhooks/express'
import { tixWebhooks as forFastify } from 'tix-webhooks/fastify'
import { tixWebhooks as forFetch } from 'tix-webhooks/fetch'
import { tixWebhooks as forHono } from 'tix-webhooks/hono'
import { tixWebhooks as forNode } from 'tix-webhooks/node'
import { instrument } from 'tix-webhooks/opentelemetry'

interface AppEnv {
  Bindings: { TIX_SIGNING_SECRET: string }
}

const accounts = new Map<string, { id: string; secret: string; plan: string }>()
const schemas = { 'order.refunded': unchecked<{ cents: number }>() }
const providers = { tracerProvider: trace.getTracerProvider(), meterProvider: metrics.getMeterProvider() }

const app = express()
app.post(
  '/hooks/:account',
  forExpress({
    account: (request: ExpressRequest<{ account: string }>) => accounts.get(request.params.account),
    store: memoryStore(),
    namespace: 'orders',
    on: {
      'order.created': (event, ctx) => ctx.account.plan.at(event.data.order.total_cents),
      // @ts-expect-error the route has no such parameter
      'event.*': (_event, ctx) => ctx.request.params.tenant,
    },
  }),
)
// @ts-expect-error a typo, also where the compiler has no NoInfer of its own
forExpress({ secret: 's', schemas, on: { 'order.refundd': () => {} } })
forExpress(
  instrument(
    {
      secret: 's',
      schemas,
      on: {
        'order.created': (event, ctx) => `${event.data.order.id.trim()} ${ctx.request.originalUrl.trim()}`,
        'order.refunded': (event) => event.data.cents.toFixed(),
      },
    },
    providers,
  ),
)

const fastify = Fastify({ logger: true })
fastify.post(
  '/hooks/:account',
  forFastify({
    account: async (request: FastifyRequest<{ Params: { account: string } }>) =>
      accounts.get(request.params.account),
    on: { 'order.created': (event, ctx) => ctx.account.plan.at(event.data.order.total_cents) },
  }),
)
Fastify({ http2: true }).post(
  '/hooks',
  forFastify(instrument({ secret: 's', on: { 'event.*': (_event, ctx) => ctx.request.log.info(ctx.key) } })),
)

new Hono<AppEnv>().post(
  '/hooks',
  forHono({
    secret: (c: Context<AppEnv>) => c.env.TIX_SIGNING_SECRET,
    schemas,
    on: { 'order.refunded': (event, ctx) => ctx.request.env.TIX_SIGNING_SECRET.at(event.data.cents) },
  }),
)

export const POST: (request: Request) => Promise<Response> = forFetch({
  secret: process.env.TIX_SIGNING_SECRET,
  on: { 'order.created': (event, ctx) => ctx.request.headers.get(event.data.order.id) },
})

createServer(forNode({ secret: ['new', 'old'], on: {}, onUnhandled: (event) => event.type.length }))
