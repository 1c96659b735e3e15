// An older Express app: CommonJS, and a module resolution that knows no exports.
import express, { type Request } from 'express'
import { RetryLater, type WebhookEvent } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/express'
import { tixWebhooks as fetchWebhooks } from 'tix-webhooks/fetch'
import { tixWebhooks as nodeWebhooks } from 'tix-webhooks/node'

const accounts = new Map<string, { id: string; secret: string[]; plan: string }>()
const options = { secret: process.env.TIX_SIGNING_SECRET, on: { 'order.created': () => {} } }

express().post(
  '/hooks/:account',
  tixWebhooks({
    account: async (request: Request<{ account: string }>) => accounts.get(request.params.account) ?? null,
    key: (event, { account }) => (account.plan === 'free' ? null : event.created_at),
    on: {
      'order.created': (event, ctx) => {
        const total: number = event.data.order.total_cents
        if (total > 0) throw new RetryLater({ afterSeconds: ctx.request.params.account.length })
      },
    },
  }),
)

export const others = [fetchWebhooks(options), nodeWebhooks(options)]
export type Event = WebhookEvent
