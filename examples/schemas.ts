// Schemas of your own: any Standard Schema types the data of a kind and checks it at run time. Here zod for a kind whose
// payload is not documented, valibot for one that is, and unchecked() for a kind that the service added last week.
import express from 'express'
import { unchecked } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/express'
import * as v from 'valibot'
import { z } from 'zod'

interface Refund {
  order_id: string
  amount_cents: number
}

const app = express()

app.post(
  '/hooks',
  tixWebhooks({
    secret: process.env.TIX_SIGNING_SECRET,
    schemas: {
      // Handlers get the output of the schema: here a Date.
      'event.rescheduled': z.object({
        event: z.object({ id: z.string().startsWith('evt_') }),
        doors_at: z.iso.datetime({ offset: true }).transform((text) => new Date(text)),
      }),
      'order.created': v.object({
        order: v.object({ id: v.string(), total_cents: v.pipe(v.number(), v.integer(), v.minValue(0)) }),
        tickets: v.array(v.object({ id: v.string(), tier: v.string() })),
      }),
      'order.refunded': unchecked<Refund>(),
    },
    on: {
      'event.rescheduled': async (event) => {
        console.info(`${event.data.event.id} now opens ${event.data.doors_at.toISOString()}`)
      },
      'order.created': async (event) => {
        console.info(`order ${event.data.order.id}`)
      },
      'order.refunded': async (event) => {
        console.info(`refund of ${event.data.amount_cents} for ${event.data.order_id}`)
      },
    },
    onUnhandled: async (event) => {
      console.info(`no handler for ${event.type}`)
    },
  }),
)

export const server = app.listen(Number(process.env.PORT ?? 3000))
