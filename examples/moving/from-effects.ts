// From a receiver of your own: an event whose effect is there was handled by it.
import { Pool } from 'pg'
import { isKind } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { postgresInbox } from 'tix-webhooks/postgres'

const pool = new Pool({ connectionTimeoutMillis: 2_000 }).on('error', (error) => console.error(error.message))
const inbox = postgresInbox(pool)
await inbox.migrate() // when you deploy

export const POST = tixWebhooks({
  secret: process.env.TIX_SIGNING_SECRET,
  inbox,
  namespace: 'orders',
  handledBefore: async (event) => {
    if (!isKind(event, 'order.created')) return false
    const { rowCount } = await pool.query('SELECT FROM tickets WHERE order_id = $1', [event.data.order.id])
    return rowCount !== 0
  },
  on: {
    'order.created': async ({ data }, ctx) => {
      await ctx.tx.query('INSERT INTO tickets (order_id) VALUES ($1)', [data.order.id])
    },
  },
})
