// Deno. Add the package (deno add npm:tix-webhooks), and start it with the endpoint's secret:
//   TIX_SIGNING_SECRET=whsec_… deno serve --allow-env --port 3000 deno.ts
import process from 'node:process'
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
  async fetch(request: Request): Promise<Response> {
    if (new URL(request.url).pathname === '/hooks') return hooks(request)
    return new Response('Not found', { status: 404 })
  },
}
