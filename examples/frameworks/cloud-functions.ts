// Google Cloud Functions and Cloud Run functions: deploy it with the entry point `hooks`. Their request is Express's, and its
// `rawBody` has the bytes. In Firebase: export const hooks = onRequest(tixWebhooks({ … })).
import { tixWebhooks } from 'tix-webhooks/express'

export const hooks = tixWebhooks({
  secret: process.env.TIX_SIGNING_SECRET,
  on: {
    'order.created': async (event) => {
      console.info(`order ${event.data.order.id}: ${event.data.tickets.length} tickets`)
    },
  },
})
