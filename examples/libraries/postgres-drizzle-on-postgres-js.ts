// An inbox over Drizzle on postgres.js, for Postgres. In place of a transaction in the transaction use ctx.tx.savepoint().
import { pgTable, text } from 'drizzle-orm/pg-core'
import { drizzle } from 'drizzle-orm/postgres-js'
import postgres, { type Sql, type TransactionSql } from 'postgres'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { postgresInbox } from 'tix-webhooks/postgres'

const orders = pgTable('orders', { id: text('id').primaryKey() })
const sql = postgres(process.env.DATABASE_URL ?? '', { fetch_types: false, max: 20 })
const inbox = postgresInbox(sql)
// Drizzle reads the options of a client, which a transaction does not have.
const drizzleOf = (tx: TransactionSql) =>
  drizzle(Object.assign(tx, { options: sql.options }) as unknown as Sql)

export const POST = tixWebhooks({
  secret: process.env.TIX_SIGNING_SECRET,
  inbox,
  namespace: 'orders',
  on: {
    'order.created': async (event, ctx) => {
      await drizzleOf(ctx.tx).insert(orders).values({ id: event.data.order.id })
    },
  },
})
