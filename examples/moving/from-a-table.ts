// From a receiver of your own that still serves, by its table of processed events: of two that insert the same row, the second waits for
// the first to commit.
import { Pool } from 'pg'
import { Discard } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { postgresInbox } from 'tix-webhooks/postgres'

const pool = new Pool({ connectionTimeoutMillis: 2_000 }).on('error', (error) => console.error(error.message))
const inbox = postgresInbox(pool)
await inbox.migrate() // when you deploy

export const POST = tixWebhooks({
  secret: process.env.TIX_SIGNING_SECRET,
  inbox,
  namespace: 'orders',
  on: {
    'order.created': async ({ data }, ctx) => {
      const insert = 'INSERT INTO processed_events (id) VALUES ($1) ON CONFLICT DO NOTHING'
      const { rowCount } = await ctx.tx.query(insert, [data.order.id])
      if (rowCount === 0) throw new Discard('the old receiver has it')
      await ctx.tx.query('INSERT INTO tickets (order_id) VALUES ($1)', [data.order.id])
    },
  },
})
