// An inbox over Objection, for Postgres.
import knexOf, { type Knex } from 'knex'
import { Model } from 'objection'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { postgresInbox } from 'tix-webhooks/postgres'

class Order extends Model {
  static override tableName = 'orders'
  declare id: string
}
const knex = knexOf({ client: 'pg', connection: process.env.DATABASE_URL ?? '', pool: { min: 0, max: 20 } })

const inbox = postgresInbox<Knex.Transaction>({
  transaction: (work) => knex.transaction(work),
  async query(trx, text, parameters) {
    const values: unknown[] = [] // Knex has ? for each use of a parameter
    const raw = text.replace(/\$(\d+)/g, (_, n) => `${values.push(parameters[n - 1]) && '?'}`)
    return (await trx.raw(raw, values as Knex.RawBinding[])).rows
  },
})

export const POST = tixWebhooks({
  secret: process.env.TIX_SIGNING_SECRET,
  inbox,
  namespace: 'orders',
  on: {
    'order.created': async (event, ctx) => {
      await Order.query(ctx.tx).insert({ id: event.data.order.id })
    },
  },
})
