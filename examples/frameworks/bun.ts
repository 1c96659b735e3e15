// Bun. Start it with the endpoint's secret:
//   TIX_SIGNING_SECRET=whsec_… bun bun.ts
import { tixWebhooks } from 'tix-webhooks/fetch'

const hooks = tixWebhooks({
  secret: process.env.TIX_SIGNING_SECRET,
  on: {
    'order.created': async (event) => {
      console.info(`order ${event.data.order.id}: ${event.data.tickets.length} tickets`)
    },
  },
})

export default {
  port: Number(process.env.PORT ?? 3000),
  async fetch(request: Request): Promise<Response> {
    if (new URL(request.url).pathname === '/hooks') return hooks(request)
    return new Response('Not found', { status: 404 })
  },
}
