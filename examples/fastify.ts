// Fastify 4 or 5. Start it with the endpoint's secret:
//   TIX_SIGNING_SECRET=whsec_… npx tsx examples/fastify.ts
import fastify from 'fastify'
import { tixWebhooks } from 'tix-webhooks/fastify'

const hooks = tixWebhooks({
  secret: process.env.TIX_SIGNING_SECRET,
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

process.once('SIGTERM', async () => {
  await hooks.drain()
  // The connections that clients keep open.
  setTimeout(() => app.server.closeAllConnections(), 3_000).unref()
  await app.close()
})

await app.listen({ port: Number(process.env.PORT ?? 3000) })
