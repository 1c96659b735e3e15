// Effects exactly once, with Drizzle: ctx.tx is Drizzle's own transaction, and what a handler writes through it is committed
// together with the record that the event was handled, or not at all.
//   TIX_SIGNING_SECRET=whsec_… DATABASE_URL=postgres://… npx tsx examples/drizzle.ts
import { createServer } from 'node:http'
import { type SQL, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { integer, pgTable, text } from 'drizzle-orm/pg-core'
import type { PostgresJsDatabase } from 'drizzle-orm/postgres-js'
import { Pool } from 'pg'
import { tixWebhooks } from 'tix-webhooks/node'
import { type PostgresDriver, postgresInbox } from 'tix-webhooks/postgres'

const orders = pgTable('orders', {
  id: text('id').primaryKey(),
  totalCents: integer('total_cents').notNull(),
})

export const pool = new Pool({ connectionString: process.env.DATABASE_URL, max: 20 })
pool.on('error', (error) => console.error(`an idle connection broke: ${error.message}`))
// One that breaks while a handler runs: the statement tells it too, but without a listener it would end the process.
pool.on('connect', (client) => client.on('error', () => {}))

/** The transaction that handlers get. */
type Tx = Parameters<Parameters<ReturnType<typeof drizzle>['transaction']>[0]>[0]

/** Drizzle on pg. It is given a client, because with a pool it keeps the client for ever when BEGIN fails. */
const driver: PostgresDriver<Tx> = {
  async transaction(work) {
    const client = await pool.connect()
    try {
      return await drizzle(client).transaction(work)
    } finally {
      client.release()
    }
  },
  query: async (tx, statement, parameters) => (await tx.execute(toDrizzle(statement, parameters))).rows,
}

/** `$1` parameters as Drizzle has them. */
function toDrizzle(statement: string, parameters: readonly unknown[]): SQL {
  const parts = statement.split(/\$(\d+)/)
  return sql.join(parts.map((part, i) => (i % 2 ? sql.param(parameters[Number(part) - 1]) : sql.raw(part))))
}

type PostgresJsTx = Parameters<Parameters<PostgresJsDatabase['transaction']>[0]>[0]

/** Drizzle on postgres.js: `postgresInbox(postgresJsDriver(drizzle(postgres(url))))`. */
export function postgresJsDriver(db: PostgresJsDatabase): PostgresDriver<PostgresJsTx> {
  return {
    transaction: (work) => db.transaction(work),
    query: (tx, statement, parameters) => tx.execute(toDrizzle(statement, parameters)),
  }
}

const inbox = postgresInbox(driver, { purgeEverySeconds: 3600 })

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
  server.close()
  await pool.end()
})
