// An inbox over Drizzle, for Postgres. The client is in a transaction already: in place of ctx.tx.transaction() use a SAVEPOINT.
import { drizzle } from 'drizzle-orm/node-postgres'
import { pgTable, text } from 'drizzle-orm/pg-core'
import { Pool } from 'pg'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { postgresInbox } from 'tix-webhooks/postgres'

const orders = pgTable('orders', { id: text('id').primaryKey() })
const pool = new Pool({ connectionString: process.env.DATABASE_URL, connectionTimeoutMillis: 2_000, max: 20 })
pool.on('error', (error) => console.error(error.message))
const inbox = postgresInbox(pool, { as: (client) => drizzle(client) })

export const POST = tixWebhooks({
  secret: process.env.TIX_SIGNING_SECRET,
  inbox,
  namespace: 'orders',
  on: {
    'order.created': async (event, ctx) => {
      await ctx.tx.insert(orders).values({ id: event.data.order.id })
    },
  },
})
