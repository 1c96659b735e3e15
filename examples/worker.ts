// Cloudflare Workers. The secret comes with each request (wrangler secret put TIX_SIGNING_SECRET), so the receiver is made
// at the first one and then kept. Pass the context: its waitUntil keeps a handler alive that outlives the answer.
import { type FetchWebhooks, tixWebhooks } from 'tix-webhooks/fetch'

interface Env {
  TIX_SIGNING_SECRET: string
}

let hooks: FetchWebhooks | undefined

function hooksOf(env: Env): FetchWebhooks {
  hooks ??= tixWebhooks({
    secret: env.TIX_SIGNING_SECRET,
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
  return hooks
}

export default {
  async fetch(
    request: Request,
    env: Env,
    ctx: { waitUntil(work: Promise<unknown>): void },
  ): Promise<Response> {
    if (new URL(request.url).pathname !== '/hooks') return new Response('Not found', { status: 404 })
    return hooksOf(env)(request, ctx)
  },
}
