// Elysia, on Bun.
import { Elysia } from 'elysia'
import { tixWebhooks } from 'tix-webhooks/fetch'

const hooks = tixWebhooks({
  secret: process.env.TIX_SIGNING_SECRET,
  on: {
    'order.created': async (event) => {
      console.info(`order ${event.data.order.id}: ${event.data.tickets.length} tickets`)
    },
  },
})

// `parse: 'none'`: Elysia leaves the body alone, whatever plugins are added later.
const app = new Elysia()
  .post('/hooks', ({ request }) => hooks(request), { parse: 'none' })
  .listen(process.env.PORT ?? 3000)

process.once('SIGTERM', async () => {
  await hooks.drain()
  await app.stop()
})
