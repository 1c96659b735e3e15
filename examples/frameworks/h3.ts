// h3 2, on any runtime.
import { H3, serve } from 'h3'
import { tixWebhooks } from 'tix-webhooks/fetch'

const hooks = tixWebhooks({
  secret: process.env.TIX_SIGNING_SECRET,
  on: {
    'order.created': async (event) => {
      console.info(`order ${event.data.order.id}: ${event.data.tickets.length} tickets`)
    },
  },
})

const app = new H3().post('/hooks', (event) => hooks(event.req))

serve(app, { port: Number(process.env.PORT ?? 3000) })
