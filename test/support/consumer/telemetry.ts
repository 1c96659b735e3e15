// Instrumented routes, as a user writes them; compiled against the packed package by test/repo/package.test.ts.
import { metrics, trace } from '@opentelemetry/api'
import { unchecked } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/express'
import { tixWebhooks as forFastify } from 'tix-webhooks/fastify'
import { tixWebhooks as forHono } from 'tix-webhooks/hono'
import { instrument } from 'tix-webhooks/opentelemetry'

const providers = { tracerProvider: trace.getTracerProvider(), meterProvider: metrics.getMeterProvider() }

tixWebhooks(
  instrument(
    {
      secret: 's',
      schemas: { 'order.refunded': unchecked<{ cents: number }>() },
      on: {
        'order.created': (event, ctx) => `${event.data.order.id.trim()} ${ctx.request.originalUrl.trim()}`,
        'order.refunded': (event) => event.data.cents.toFixed(),
      },
    },
    providers,
  ),
)

forFastify(instrument({ secret: 's', on: { 'event.*': (_event, ctx) => ctx.request.log.info(ctx.key) } }))

forHono(instrument({ secret: 's', on: { 'event.*': (_event, ctx) => ctx.request.req.header('host') } }))
