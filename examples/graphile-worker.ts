// Long work in a queue, with Graphile Worker in the transaction of an inbox: there is a job exactly if the event is recorded as
// handled. Start it with the endpoint's secret and a database:
//   TIX_SIGNING_SECRET=whsec_… DATABASE_URL=postgres://… npx tsx examples/graphile-worker.ts
import { createServer } from 'node:http'
import { run } from 'graphile-worker'
import { Pool } from 'pg'
import { tixWebhooks } from 'tix-webhooks/node'
import { postgresInbox } from 'tix-webhooks/postgres'

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

interface IssueTickets {
  key: string
  tickets: string[]
}

// In your app, a separate process. It creates its tables at its first start, and has its own connections.
export const worker = await run({
  ...(process.env.DATABASE_URL !== undefined && { connectionString: process.env.DATABASE_URL }),
  noHandleSignals: true,
  taskList: {
    'issue-tickets': async (payload) => {
      // Graphile Worker may run a job again: give the other side the key as an idempotency key.
      const { key, tickets } = payload as IssueTickets
      console.info(`job of ${key}: ${tickets.join(', ')}`)
    },
  },
})

const hooks = tixWebhooks({
  secret: process.env.TIX_SIGNING_SECRET,
  inbox,
  namespace: 'orders',
  on: {
    'order.created': async (event, ctx) => {
      const { order, tickets } = event.data
      const job = { key: ctx.key, tickets: tickets.map(({ id }) => id) }
      // No job_key: the inbox deduplicates, and a waiting job with the same job_key would be replaced, even one of another task.
      await ctx.tx.query("SELECT graphile_worker.add_job('issue-tickets', $1::json)", [job])
      await ctx.tx.query('INSERT INTO orders (id, total_cents) VALUES ($1, $2)', [
        order.id,
        order.total_cents,
      ])
    },
  },
})

export const server = createServer(hooks).listen(Number(process.env.PORT ?? 3000))

process.once('SIGTERM', async () => {
  await hooks.drain()
  // The connections that clients keep open.
  setTimeout(() => server.closeAllConnections(), 3_000).unref()
  await new Promise((resolve) => server.close(resolve))
  await worker.stop()
  await pool.end()
})
