// Hono 4, here on Node. Start it with the endpoint's secret:
//   TIX_SIGNING_SECRET=whsec_… npx tsx examples/hono.ts
import type { Server } from 'node:http'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { tixWebhooks } from 'tix-webhooks/hono'

const hooks = tixWebhooks({
  secret: process.env.TIX_SIGNING_SECRET,
  maxRunSeconds: 25,
  on: {
    'order.created': async (event, ctx) => {
      console.info(
        `order ${event.data.order.id}: ${event.data.tickets.length} tickets (attempt ${ctx.attempt})`,
      )
    },
    'event.*': async (event) => {
      console.info(`${event.type} at ${event.created_at}`)
    },
  },
})

const app = new Hono()
app.post('/hooks', hooks)
app.post('/echo', async (c) => c.json(await c.req.json()))

// For the readiness probe of a balancer.
app.get('/ready', async (c) => {
  const health = await hooks.health()
  return c.json(health, health.ok ? 200 : 503)
})

export const server = serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000) }) as Server

process.once('SIGTERM', async () => {
  process.on('SIGTERM', () => {}) // a second one would end the process at once
  setTimeout(() => process.exit(1), 50_000).unref() // if something hangs
  server.maxRequestsPerSocket = 1 // each answer closes its connection: the next request goes to another process
  await hooks.drain({ graceSeconds: 10 })
  server.close() // then the clients of databases
  // The connections that clients keep open.
  setTimeout(() => server.closeAllConnections(), 3_000).unref()
})
