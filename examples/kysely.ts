// Effects exactly once, with Kysely: ctx.tx is Kysely's own transaction, and what a handler writes through it is committed
// together with the record that the event was handled, or not at all.
//   TIX_SIGNING_SECRET=whsec_… DATABASE_URL=postgres://… npx tsx examples/kysely.ts
import { createServer } from 'node:http'
import { CompiledQuery, Kysely, PostgresDialect, type Transaction } from 'kysely'
import { Pool } from 'pg'
import { tixWebhooks } from 'tix-webhooks/node'
import { type PostgresDriver, postgresInbox } from 'tix-webhooks/postgres'

interface Tables {
  orders: { id: string; total_cents: number }
}

export const pool = new Pool({
  connectionString: process.env.DATABASE_URL,
  connectionTimeoutMillis: 2_000,
  max: 20,
})
pool.on('error', (error) => console.error(`an idle connection broke: ${error.message}`))
// A connection may break while a handler runs: its statement fails too, but an 'error' without a listener ends the process.
pool.on('connect', (client) => client.on('error', () => {}))

const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })

const driver: PostgresDriver<Transaction<Tables>> = {
  transaction: (work) => db.transaction().execute(work),
  async query(tx, statement, parameters) {
    const { rows } = await tx.executeQuery<Record<string, unknown>>(
      CompiledQuery.raw(statement, [...parameters]),
    )
    return rows
  },
}

const inbox = postgresInbox(driver)

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
      await ctx.tx.insertInto('orders').values({ id, total_cents }).execute()
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
