// The app under test. Its mailer and its clock are parameters: a test checks the one and moves the other.
import fastify from 'fastify'
import { Discard } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/fastify'

/** Separate, so that a test can call one without an app. */
export const handlers = (mailTickets) => ({
  'order.created': async ({ data: { order, tickets } }) => {
    if (order.total_cents === 0) throw new Discard('free tickets are handed out at the door')
    await mailTickets(order.buyer_email, tickets)
  },
})

export function createApp({ mailTickets, ...options }) {
  const app = fastify()
  app.post('/hooks', tixWebhooks({ ...options, on: handlers(mailTickets) }))
  return app
}
