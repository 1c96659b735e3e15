// Cloudflare Workers, with the records in D1. wrangler.jsonc beside it has the bindings; TIX_SIGNING_SECRET is a secret of the Worker
// (wrangler secret put TIX_SIGNING_SECRET). They come with each request, so the receiver is made at the first one and then kept.
import { type D1Database, d1Store } from 'tix-webhooks/d1'
import { type FetchWebhooks, tixWebhooks } from 'tix-webhooks/fetch'

interface Env {
  TIX_SIGNING_SECRET: string
  DB: D1Database
}

let hooks: FetchWebhooks | undefined

function hooksOf(env: Env): FetchWebhooks {
  hooks ??= tixWebhooks({
    secret: env.TIX_SIGNING_SECRET,
    store: d1Store(env.DB),
    namespace: 'orders',
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
  // Pass the context: its waitUntil keeps a handler alive whose client goes away, or that outlives the answer.
  async fetch(
    request: Request,
    env: Env,
    ctx: { waitUntil(work: Promise<unknown>): void },
  ): Promise<Response> {
    if (new URL(request.url).pathname !== '/hooks') return new Response('Not found', { status: 404 })
    return hooksOf(env)(request, ctx)
  },

  // The cron trigger: creates the table at its first run, and deletes records past their retention.
  async scheduled(_event: unknown, env: Env): Promise<void> {
    const store = d1Store(env.DB)
    await store.migrate()
    while ((await store.purge()) > 0) {}
  },
}
