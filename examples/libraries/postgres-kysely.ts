// An inbox over Kysely, for Postgres.
import { CompiledQuery, Kysely, PostgresDialect, type Transaction } from 'kysely'
import { Pool } from 'pg'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { postgresInbox } from 'tix-webhooks/postgres'

interface Tables {
  orders: { id: string }
}
const pool = new Pool({ connectionString: process.env.DATABASE_URL, connectionTimeoutMillis: 2_000, max: 20 })
pool.on('error', () => {}) // a connection that breaks would end the process: while it is idle,
pool.on('connect', (client) => client.on('error', () => {})) // and while a transaction holds it
const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })

const inbox = postgresInbox<Transaction<Tables>>({
  transaction: (work) => db.transaction().execute(work),
  query: async (tx, text, parameters) =>
    (await tx.executeQuery<Record<string, unknown>>(CompiledQuery.raw(text, [...parameters]))).rows,
})

export const POST = tixWebhooks({
  secret: process.env.TIX_SIGNING_SECRET,
  inbox,
  namespace: 'orders',
  on: {
    'order.created': async (event, ctx) => {
      await ctx.tx.insertInto('orders').values({ id: event.data.order.id }).execute()
    },
  },
})
