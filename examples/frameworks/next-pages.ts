// Next, pages router: pages/api/hooks.ts, so the URL ends in /api/hooks. The signature covers the bytes, so Next must not parse the body.
import { tixWebhooks } from 'tix-webhooks/node'

export const config = { api: { bodyParser: false } }

export default tixWebhooks({
  secret: () => process.env.TIX_SIGNING_SECRET,
  on: {
    'order.created': async (event) => {
      console.info(`order ${event.data.order.id}: ${event.data.tickets.length} tickets`)
    },
  },
})
