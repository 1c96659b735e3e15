// Effects exactly once on Cloudflare Workers, with postgres.js through Hyperdrive: a client belongs to the request that made it, so
// each request makes one, and ends it after the delivery.
import postgres from 'postgres'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { postgresInbox } from 'tix-webhooks/postgres'

interface Env {
  TIX_SIGNING_SECRET: string
  HYPERDRIVE: { connectionString: string }
}

export default {
  async fetch(
    request: Request,
    env: Env,
    ctx: { waitUntil(work: Promise<unknown>): void },
  ): Promise<Response> {
    const sql = postgres(env.HYPERDRIVE.connectionString, { max: 2 })
    const late: Promise<unknown>[] = []
    const hooks = tixWebhooks({
      secret: env.TIX_SIGNING_SECRET,
      inbox: () => postgresInbox(sql, { purgeEverySeconds: false }), // purge() in a cron trigger
      namespace: 'orders',
      on: { 'order.created': (event) => console.info(event.data.order.id) },
    })
    const response = hooks(request, { waitUntil: (work) => late.push(work) })
    // Not awaited before: a Worker cancels the work of a client that has gone.
    ctx.waitUntil(response.then(() => Promise.allSettled(late)).then(() => sql.end()))
    return response
  },
}
