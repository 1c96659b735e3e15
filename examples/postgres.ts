// Effects exactly once, with pg: what a handler writes through ctx.tx is committed together with the record that the event
// was handled, or not at all. Start it with the endpoint's secret and a database:
//   TIX_SIGNING_SECRET=whsec_… DATABASE_URL=postgres://… npx tsx examples/postgres.ts
import { createServer } from 'node:http'
import { Pool } from 'pg'
import { tixWebhooks } from 'tix-webhooks/node'
import { postgresInbox } from 'tix-webhooks/postgres'

// A handler uses a connection while it runs: allow one for each concurrent delivery.
export const pool = new Pool({
  connectionString: process.env.DATABASE_URL,
  connectionTimeoutMillis: 2_000,
  max: 20,
})
pool.on('error', (error) => console.error(`an idle connection broke: ${error.message}`))

const inbox = postgresInbox(pool)

// When you deploy.
await inbox.migrate()
await pool.query('CREATE TABLE IF NOT EXISTS orders (id text PRIMARY KEY, total_cents integer NOT NULL)')

const hooks = tixWebhooks({
  secret: process.env.TIX_SIGNING_SECRET,
  inbox,
  namespace: 'orders',
  on: {
    'order.created': async (event, ctx) => {
      const { id, total_cents } = event.data.order
      // Not the pool: writes outside ctx.tx are not rolled back when the handler fails.
      await ctx.tx.query('INSERT INTO orders (id, total_cents) VALUES ($1, $2)', [id, total_cents])
      console.info(`order ${id}: ${total_cents} cents`)
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
