// An inbox over pg-promise, for Postgres.
import pgPromise, { type ITask } from 'pg-promise'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { postgresInbox } from 'tix-webhooks/postgres'

const db = pgPromise()({ connectionString: process.env.DATABASE_URL ?? '', max: 20 })

const inbox = postgresInbox<ITask<object>>({
  transaction: (work) => db.tx(work),
  query: (t, text, parameters) => t.any(text, [...parameters]),
})

export const POST = tixWebhooks({
  secret: process.env.TIX_SIGNING_SECRET,
  inbox,
  namespace: 'orders',
  on: {
    'order.created': async (event, ctx) => {
      await ctx.tx.none('INSERT INTO orders (id) VALUES ($1)', [event.data.order.id])
    },
  },
})
