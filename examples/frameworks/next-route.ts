// Next, app router: app/hooks/route.ts. The secret is a function, because `next build` loads this file without it.
import { after } from 'next/server'
import { tixWebhooks } from 'tix-webhooks/fetch'

const hooks = tixWebhooks({
  secret: () => process.env.TIX_SIGNING_SECRET,
  on: {
    'order.created': async (event) => {
      console.info(`order ${event.data.order.id}: ${event.data.tickets.length} tickets`)
    },
  },
})

// `after` keeps the function alive for a handler that outlives the answer (timeoutSeconds).
export function POST(request: Request): Promise<Response> {
  return hooks(request, { waitUntil: (work) => after(work) })
}
