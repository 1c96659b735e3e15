// Nitro 2 (Nuxt 3 and 4, h3 1) on Node: server/routes/hooks.ts. Methods other than POST get 405.
import { fromNodeMiddleware } from 'h3'
import { tixWebhooks } from 'tix-webhooks/node'

export default fromNodeMiddleware(
  tixWebhooks({
    secret: () => process.env.TIX_SIGNING_SECRET,
    on: {
      'order.created': async (event) => {
        console.info(`order ${event.data.order.id}: ${event.data.tickets.length} tickets`)
      },
    },
  }),
)
