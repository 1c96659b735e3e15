// An inbox over Sequelize, for MySQL or MariaDB.
import { DataTypes, Sequelize, type Transaction } from 'sequelize'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { mysqlInbox } from 'tix-webhooks/mysql'

const sequelize = new Sequelize(process.env.DATABASE_URL ?? '', { logging: false, pool: { max: 20 } })
const Order = sequelize.define(
  'order',
  { id: { type: DataTypes.STRING, primaryKey: true } },
  { timestamps: false },
)

const inbox = mysqlInbox<Transaction>({
  transaction: (work) => sequelize.transaction(work),
  query: async (transaction, sql) => (await sequelize.query(sql, { transaction }))[0],
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
