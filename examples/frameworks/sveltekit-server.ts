// SvelteKit: src/routes/hooks/+server.ts. The secret is a function, because `vite build` loads this file without it.

import { tixWebhooks } from 'tix-webhooks/fetch'
import { env } from '$env/dynamic/private'

const hooks = tixWebhooks({
  secret: () => env.TIX_SIGNING_SECRET,
  on: {
    'order.created': async (event) => {
      console.info(`order ${event.data.order.id}: ${event.data.tickets.length} tickets`)
    },
  },
})

export const POST = ({ request }: { request: Request }): Promise<Response> => hooks(request)
