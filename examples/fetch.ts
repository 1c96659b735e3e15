// A web-standard handler, from Request to Response. As it stands this is a route of Next (app/hooks/route.ts). For Bun and Deno
// write `export default { fetch: POST }`; in SvelteKit, `export const POST = ({ request }) => hooks(request)`.
import { tixWebhooks } from 'tix-webhooks/fetch'

export const POST = tixWebhooks({
  secret: process.env.TIX_SIGNING_SECRET,
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
