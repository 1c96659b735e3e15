// Fastify 4 or 5. Start it with the endpoint's secret:
//   TIX_SIGNING_SECRET=whsec_… npx tsx examples/fastify.ts
import fastify from 'fastify'
import { tixWebhooks } from 'tix-webhooks/fastify'

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

export const app = fastify()
app.post('/hooks', hooks)

// Other routes keep Fastify's own parsers, even those declared earlier.
app.post('/echo', async (request) => request.body)

// For the readiness probe of a balancer.
app.get('/ready', async (_request, reply) => {
  const health = await hooks.health()
  return reply.code(health.ok ? 200 : 503).send(health)
})

process.once('SIGTERM', async () => {
  process.on('SIGTERM', () => {}) // a second one would end the process at once
  setTimeout(() => process.exit(1), 50_000).unref() // if something hangs
  app.server.maxRequestsPerSocket = 1 // each answer closes its connection: the next request goes to another process
  await hooks.drain({ graceSeconds: 10 })
  // The connections that clients keep open.
  setTimeout(() => app.server.closeAllConnections(), 3_000).unref()
  await app.close() // then the clients of databases
})

await app.listen({ port: Number(process.env.PORT ?? 3000) })
