// The app under test. Its mailer and its clock are parameters: a test checks the one and moves the other.
import { type Context, Hono } from 'hono'
import { Discard, type Handlers, type OrderTicket, type WebhookOptions } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/hono'

export type MailTickets = (to: string, tickets: readonly OrderTicket[]) => Promise<void>

/** Separate, so that a test can call one without an app. */
export function handlers(mailTickets: MailTickets) {
  return {
    'order.created': async ({ data: { order, tickets } }) => {
      if (order.total_cents === 0) throw new Discard('free tickets are handed out at the door')
      await mailTickets(order.buyer_email, tickets)
    },
  } satisfies Handlers<Context>
}

export interface AppOptions extends Pick<WebhookOptions<Context>, 'secret' | 'now' | 'onError'> {
  mailTickets: MailTickets
}

export function createApp({ mailTickets, ...options }: AppOptions): Hono {
  const app = new Hono()
  app.post('/hooks', tixWebhooks({ ...options, on: handlers(mailTickets) }))
  return app
}
