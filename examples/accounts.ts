// Many accounts on one route, each with a secret of its own in a table, looked up by the URL of the endpoint. Start it with a database:
//   DATABASE_URL=postgres://… npx tsx examples/accounts.ts
import express, { type Request } from 'express'
import { Pool } from 'pg'
import { tixWebhooks } from 'tix-webhooks/express'
import { postgresInbox } from 'tix-webhooks/postgres'

interface Shop {
  readonly id: string
  /** The newest first: two during a rotation. */
  readonly secret: string[]
  readonly currency: string
}

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
  'CREATE TABLE IF NOT EXISTS shops (id text PRIMARY KEY, secret text[] NOT NULL, currency text NOT NULL, old_secret_used_at timestamptz)',
)
await pool.query(
  'CREATE TABLE IF NOT EXISTS shop_orders (shop text, id text, cents integer NOT NULL, currency text NOT NULL, PRIMARY KEY (shop, id))',
)

/** A change of a secret takes effect after so long. */
const REMEMBERED_MS = 10_000
const MOST_REMEMBERED = 1_000
const remembered = new Map<string, { shop: Promise<Shop | undefined>; until: number }>()

/** Finds a shop, and remembers also that there is none: a stranger costs no query for each request. */
function shopOf(id: string): Promise<Shop | undefined> {
  const known = remembered.get(id)
  if (known !== undefined && Date.now() < known.until) return known.shop
  const shop = findShop(id)
  // A failure is not remembered.
  shop.catch(() => remembered.delete(id))
  // Strangers can invent any number of ids.
  if (remembered.size >= MOST_REMEMBERED) remembered.clear()
  remembered.set(id, { shop, until: Date.now() + REMEMBERED_MS })
  return shop
}

async function findShop(id: string): Promise<Shop | undefined> {
  // Postgres refuses a NUL, and a stranger's request would count as an outage.
  if (!/^[\w-]{1,64}$/.test(id)) return undefined
  const { rows } = await pool.query<Shop>('SELECT id, secret, currency FROM shops WHERE id = $1', [id])
  return rows[0]
}

const hooks = tixWebhooks({
  account: (request: Request<{ shop: string }>) => shopOf(request.params.shop),
  inbox,
  namespace: 'orders',
  on: {
    'order.created': async (event, { account, tx }) => {
      const { id, total_cents } = event.data.order
      const row = [account.id, id, total_cents, account.currency]
      await tx.query('INSERT INTO shop_orders VALUES ($1, $2, $3, $4)', row)
    },
  },
  onDelivery: async ({ outcome, account, secretIndex = 0 }) => {
    // Not what is refused as too old: anybody who has seen a delivery can send it again.
    if (secretIndex === 0 || outcome === 'unauthenticated') return
    await pool.query('UPDATE shops SET old_secret_used_at = now() WHERE id = $1', [account])
  },
})

/** Begins a rotation: the new secret is accepted beside the old ones. May be called again, and before an earlier rotation has ended. */
export async function addSecret(id: string, secret: string): Promise<void> {
  await pool.query(
    'UPDATE shops SET secret = $2::text || secret[1:2], old_secret_used_at = NULL WHERE id = $1 AND secret[1] <> $2',
    [id, secret],
  )
}

/**
 * Ends a rotation, at the earliest 72 hours after the service has switched.
 *
 * @returns false if the old secret was used within 72 hours
 */
export async function dropOldSecret(id: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    `UPDATE shops SET secret = secret[1:1]
     WHERE id = $1 AND (old_secret_used_at < now() - interval '72 hours' OR old_secret_used_at IS NULL)`,
    [id],
  )
  return rowCount === 1
}

export const server = express()
  .post('/hooks/:shop', hooks)
  .listen(Number(process.env.PORT ?? 3000))

process.once('SIGTERM', async () => {
  await hooks.drain()
  server.close(() => pool.end())
  // The connections that clients keep open.
  setTimeout(() => server.closeAllConnections(), 3_000).unref()
})
