// Events that can never be handled: after some attempts, or at some age, they go to a table of your own instead of being retried for 72 hours,
// and can be put back when the fault is fixed. Start it with the endpoint's secret and a database:
//   TIX_SIGNING_SECRET=whsec_… DATABASE_URL=postgres://… npx tsx examples/poison-events.ts
import { createServer } from 'node:http'
import { Pool, type PoolClient } from 'pg'
import { Discard, type EventLifecycleEvent, type OrderCreatedEvent } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/node'
import { postgresInbox, postgresStore } from 'tix-webhooks/postgres'

const MOST_ATTEMPTS = 5
const MOST_MS = 6 * 3_600_000

type TicketEvent = OrderCreatedEvent | EventLifecycleEvent

export const pool = new Pool({
  connectionString: process.env.DATABASE_URL,
  connectionTimeoutMillis: 2_000,
  max: 20,
})
pool.on('error', (error) => console.error(`an idle connection broke: ${error.message}`))
// For `putBack`: when a connection in use breaks without a listener, the process ends.
pool.on('connect', (client) => client.on('error', () => {}))

const store = postgresStore(pool, { purgeEverySeconds: 3600 })
// Events can be put back for so long: after that, isNewest has forgotten what was newer. On the inbox, so that it is also true in a process
// that has had no delivery yet.
const inbox = postgresInbox(pool, { purgeEverySeconds: 3600, retentionSeconds: 30 * 86_400 })

// When you deploy.
await store.migrate()
await inbox.migrate()
await pool.query('CREATE TABLE IF NOT EXISTS listing (event_id text PRIMARY KEY, state text NOT NULL)')
// Not jsonb: it refuses a NUL and halves of surrogate pairs, which may be what makes an event poison.
await pool.query(
  'CREATE TABLE IF NOT EXISTS poison (key text PRIMARY KEY, event json NOT NULL, reason text NOT NULL, put_back_at timestamptz)',
)
// A row that was put back stays for as long as the service may still retry its event.
await pool.query("DELETE FROM poison WHERE put_back_at < now() - interval '4 days'")

async function setAside(
  db: Pool | PoolClient,
  key: string | null,
  event: TicketEvent,
  error: unknown,
): Promise<void> {
  const reason = String(error).replaceAll('\0', '')
  await db.query('INSERT INTO poison VALUES ($1, $2, $3) ON CONFLICT (key) DO NOTHING', [key, event, reason])
}

/** Also if it was put back meanwhile. */
async function wasSetAside(key: string | null): Promise<boolean> {
  const { rows } = await pool.query('SELECT 1 FROM poison WHERE key = $1', [key])
  return rows.length > 0
}

async function printTickets({ data }: OrderCreatedEvent): Promise<void> {
  const response = await fetch(process.env.PRINTER_URL ?? '', { method: 'POST', body: JSON.stringify(data) })
  if (!response.ok) throw new Error(`the printer answered ${response.status}`)
}

async function list(event: EventLifecycleEvent, tx: PoolClient): Promise<void> {
  const { id } = event.data.event as { id: string }
  // One that is put back is late, and must not undo a newer one.
  if (!(await inbox.isNewest(tx, { subject: id, at: event.created_at }))) return
  await tx.query(
    'INSERT INTO listing VALUES ($1, $2) ON CONFLICT (event_id) DO UPDATE SET state = excluded.state',
    [id, event.type],
  )
}

// With a store: it counts the attempts. The row first, because a discarded event is not retried.
const orders = tixWebhooks({
  secret: process.env.TIX_SIGNING_SECRET,
  store,
  namespace: 'orders',
  on: {
    'order.created': async (event, ctx) => {
      const attempt = ctx.attempt ?? 1
      // The process may die between the row and the record of its Discard. Then the service retries an order that is printed when it is put back.
      if (attempt > MOST_ATTEMPTS && (await wasSetAside(ctx.key)))
        throw new Discard('it was set aside before')
      try {
        await printTickets(event)
      } catch (error) {
        if (attempt < MOST_ATTEMPTS) throw error
        await setAside(pool, ctx.key, event, error)
        throw new Discard(`set aside after ${attempt} attempts: ${error}`)
      }
    },
  },
})

// With an inbox: nothing counts, so the age decides. Not by a Discard, which would roll back the row: the savepoint undoes the handler's
// writes alone, and the row is committed together with the record of the event.
const events = tixWebhooks({
  secret: process.env.TIX_SIGNING_SECRET,
  inbox,
  namespace: 'listing',
  on: {
    'event.*': async (event, ctx) => {
      await ctx.tx.query('SAVEPOINT handler')
      try {
        await list(event, ctx.tx)
        // A deferred constraint would fail at COMMIT, after this handler.
        await ctx.tx.query('SET CONSTRAINTS ALL IMMEDIATE')
      } catch (error) {
        if (Date.now() - Date.parse(event.created_at) < MOST_MS) throw error
        await ctx.tx.query('ROLLBACK TO SAVEPOINT handler')
        await setAside(ctx.tx, ctx.key, event, error)
        console.error(`${ctx.key} is set aside: the table has the reason`)
      }
    },
  },
})

/**
 * Handles an event that was set aside, in one transaction with the mark on its row: it can be put back again if the handler fails again. Not by
 * a new delivery, which would be a duplicate.
 */
export async function putBack(key: string): Promise<boolean> {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    const { rows } = await client.query(
      'UPDATE poison SET put_back_at = now() WHERE key = $1 AND put_back_at IS NULL RETURNING event',
      [key],
    )
    const event: TicketEvent | undefined = rows[0]?.event
    if (event?.type === 'order.created') await printTickets(event)
    else if (event !== undefined) await list(event, client)
    await client.query('COMMIT')
    client.release()
    return event !== undefined
  } catch (error) {
    // Closed, which rolls back, because the connection may be what failed.
    client.release(true)
    throw error
  }
}

export const server = createServer((req, res) =>
  req.url === '/hooks/orders' ? orders(req, res) : events(req, res),
).listen(Number(process.env.PORT ?? 3000))

process.once('SIGTERM', async () => {
  await Promise.all([orders.drain(), events.drain()])
  server.close(() => pool.end())
  // The connections that clients keep open.
  setTimeout(() => server.closeAllConnections(), 3_000).unref()
})
