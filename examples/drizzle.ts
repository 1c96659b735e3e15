// Effects exactly once, with Drizzle: ctx.tx is a Drizzle database in a transaction, and what a handler writes through it is
// committed together with the record that the event was handled, or not at all.
//   TIX_SIGNING_SECRET=whsec_… DATABASE_URL=postgres://… npx tsx examples/drizzle.ts
import { createServer } from 'node:http'
import { drizzle } from 'drizzle-orm/node-postgres'
import { integer, pgTable, text } from 'drizzle-orm/pg-core'
import { Pool } from 'pg'
import { tixWebhooks } from 'tix-webhooks/node'
import { postgresInbox } from 'tix-webhooks/postgres'

const orders = pgTable('orders', {
  id: text('id').primaryKey(),
  totalCents: integer('total_cents').notNull(),
})

export const pool = new Pool({
  connectionString: process.env.DATABASE_URL,
  max: 20,
  connectionTimeoutMillis: 2_000,
})
pool.on('error', (error) => console.error(`an idle connection broke: ${error.message}`))

// The inbox opens the transaction, and Drizzle gets the client of that transaction.
const inbox = postgresInbox(pool, { as: (client) => drizzle(client) })

// When you deploy.
await inbox.migrate()
await pool.query('CREATE TABLE IF NOT EXISTS orders (id text PRIMARY KEY, total_cents integer NOT NULL)')

const hooks = tixWebhooks({
  secret: process.env.TIX_SIGNING_SECRET,
  inbox,
  namespace: 'orders',
  on: {
    'order.created': async (event, ctx) => {
      const { id, total_cents: totalCents } = event.data.order
      await ctx.tx.insert(orders).values({ id, totalCents })
      console.info(`order ${id}: ${totalCents} cents`)
    },
  },
})

export const server = createServer(hooks).listen(Number(process.env.PORT ?? 3000))

process.once('SIGTERM', async () => {
  await hooks.drain()
  server.close(() => pool.end())
  // The connections that clients keep open.
  setTimeout(() => server.closeAllConnections(), 3_000).unref()
})
