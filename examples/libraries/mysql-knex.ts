// An inbox over Knex, for MySQL or MariaDB.
import knexOf, { type Knex } from 'knex'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { mysqlInbox } from 'tix-webhooks/mysql'

const knex = knexOf({
  client: 'mysql2',
  connection: process.env.DATABASE_URL ?? '',
  pool: { min: 0, max: 20 },
})

const inbox = mysqlInbox<Knex.Transaction>({
  transaction: (work) => knex.transaction(work),
  query: (trx, sql) => trx.raw(sql),
})

export const POST = tixWebhooks({
  secret: process.env.TIX_SIGNING_SECRET,
  inbox,
  namespace: 'orders',
  on: {
    'order.created': async (event, ctx) => {
      await ctx.tx('orders').insert({ id: event.data.order.id })
    },
  },
})
