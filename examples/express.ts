// Express 4 or 5. Start it with the endpoint's secret:
//   TIX_SIGNING_SECRET=whsec_… npx tsx examples/express.ts
import express from 'express'
import { tixWebhooks } from 'tix-webhooks/express'

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

const app = express()
app.post('/hooks', hooks)

// The parser comes after the webhook route: it would use up the bytes that the signature covers.
app.use(express.json())
app.post('/echo', (req, res) => {
  res.json(req.body)
})

export const server = app.listen(Number(process.env.PORT ?? 3000))

process.once('SIGTERM', async () => {
  await hooks.drain()
  server.close()
  // The connections that clients keep open.
  setTimeout(() => server.closeAllConnections(), 3_000).unref()
})
