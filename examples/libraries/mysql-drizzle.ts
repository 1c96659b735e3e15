// An inbox over Drizzle, for MySQL or MariaDB. The connection is in a transaction already: in place of ctx.tx.transaction() use a SAVEPOINT.
import { mysqlTable, varchar } from 'drizzle-orm/mysql-core'
import { drizzle } from 'drizzle-orm/mysql2'
import mysql from 'mysql2/promise'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { mysqlInbox } from 'tix-webhooks/mysql'

const orders = mysqlTable('orders', { id: varchar('id', { length: 191 }).primaryKey() })
const pool = mysql.createPool({
  uri: process.env.DATABASE_URL ?? 'mysql://localhost/app',
  connectionLimit: 20,
})
const inbox = mysqlInbox(pool, { as: (connection) => drizzle({ client: connection }) })

export const POST = tixWebhooks({
  secret: process.env.TIX_SIGNING_SECRET,
  inbox,
  namespace: 'orders',
  on: {
    'order.created': async (event, ctx) => {
      await ctx.tx.insert(orders).values({ id: event.data.order.id })
    },
  },
})
