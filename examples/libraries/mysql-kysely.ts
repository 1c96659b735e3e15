// An inbox over Kysely, for MySQL or MariaDB.
import { CompiledQuery, Kysely, MysqlDialect, type Transaction } from 'kysely'
import { createPool } from 'mysql2'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { mysqlInbox } from 'tix-webhooks/mysql'

interface Tables {
  orders: { id: string }
}
const pool = createPool({ uri: process.env.DATABASE_URL ?? '', connectionLimit: 20 })
const db = new Kysely<Tables>({ dialect: new MysqlDialect({ pool }) })

const inbox = mysqlInbox<Transaction<Tables>>({
  transaction: (work) => db.transaction().execute(work),
  query: async (tx, sql) => (await tx.executeQuery(CompiledQuery.raw(sql))).rows,
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
