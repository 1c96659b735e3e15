// Hono on Workers, where the secret is a binding. `c` has its type written out, because TypeScript cannot infer it from the app.
import { type Context, Hono } from 'hono'
import { tixWebhooks } from 'tix-webhooks/hono'

interface Env {
  Bindings: { TIX_SIGNING_SECRET: string }
}

const hooks = tixWebhooks({
  secret: (c: Context<Env>) => c.env.TIX_SIGNING_SECRET,
  on: {
    'order.created': async (event) => {
      console.info(`order ${event.data.order.id}: ${event.data.tickets.length} tickets`)
    },
  },
})

const app = new Hono<Env>()
app.post('/hooks', hooks)

export default app
