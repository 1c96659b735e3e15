// Events in order, with pg: webhooks arrive late, twice and at the same time, and the listing still ends with what happened last. Start
// it with the endpoint's secret and a database:
//   TIX_SIGNING_SECRET=whsec_… DATABASE_URL=postgres://… npx tsx examples/ordering.ts
import { createServer } from 'node:http'
import { Pool } from 'pg'
import { type JsonObject, unchecked } from 'tix-webhooks'
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
await pool.query(
  'CREATE TABLE IF NOT EXISTS listing (event_id text PRIMARY KEY, state text NOT NULL, doors_at text)',
)

// Your policy for events of one second: here a cancellation is final.
const RANK = { 'event.published': 0, 'event.rescheduled': 1, 'event.cancelled': 2 }

// Not documented, so look at what you get. The id is the subject: without one, let the event fail.
type Data = JsonObject & { event: { id: string; doors_at: string } }
const schemas = {
  'event.published': unchecked<Data>(),
  'event.rescheduled': unchecked<Data>(),
  'event.cancelled': unchecked<Data>(),
}

const hooks = tixWebhooks({
  secret: process.env.TIX_SIGNING_SECRET,
  inbox,
  namespace: 'listing',
  schemas,
  on: {
    'event.*': async (event, ctx) => {
      const { id, doors_at } = event.data.event
      // First, before anything is read or written: it waits for another transaction about the same event.
      const change = { subject: id, at: event.created_at, rank: RANK[event.type] }
      if (!(await inbox.recordIfNewest(ctx.tx, change))) {
        console.info(`${id}: ${event.type} came too late`)
        return
      }
      await ctx.tx.query(
        `INSERT INTO listing VALUES ($1, $2, $3)
         ON CONFLICT (event_id) DO UPDATE SET state = excluded.state, doors_at = excluded.doors_at`,
        [id, event.type === 'event.cancelled' ? 'cancelled' : 'on sale', doors_at],
      )
      console.info(`${id}: ${event.type}`)
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
