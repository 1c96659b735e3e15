// An inbox over Sequelize, for Postgres.
import { DataTypes, QueryTypes, Sequelize, type Transaction } from 'sequelize'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { postgresInbox } from 'tix-webhooks/postgres'

const sequelize = new Sequelize(process.env.DATABASE_URL ?? '', { logging: false, pool: { max: 20 } })
const Order = sequelize.define(
  'order',
  { id: { type: DataTypes.TEXT, primaryKey: true } },
  { timestamps: false },
)

const inbox = postgresInbox<Transaction>({
  transaction: (work) => sequelize.transaction(work),
  query: (transaction, text, parameters) =>
    sequelize.query(text, { bind: [...parameters], transaction, type: QueryTypes.SELECT }),
})

export const POST = tixWebhooks({
  secret: process.env.TIX_SIGNING_SECRET,
  inbox,
  namespace: 'orders',
  on: {
    'order.created': async (event, ctx) => {
      await Order.create({ id: event.data.order.id }, { transaction: ctx.tx })
    },
  },
})
