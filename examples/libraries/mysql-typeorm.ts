// An inbox over TypeORM, for MySQL or MariaDB.
import { tixWebhooks } from 'tix-webhooks/fetch'
import { mysqlInbox } from 'tix-webhooks/mysql'
import { DataSource, type EntityManager, EntitySchema } from 'typeorm'

const Order = new EntitySchema<{ id: string }>({
  name: 'Order',
  tableName: 'orders',
  columns: { id: { type: 'varchar', length: 191, primary: true } },
})
const url = process.env.DATABASE_URL ?? ''
const dataSource = new DataSource({ type: 'mysql', url, poolSize: 20, entities: [Order] })
await dataSource.initialize()

const inbox = mysqlInbox<EntityManager>({
  transaction: (work) => dataSource.transaction(work),
  query: (manager, sql) => manager.query(sql),
})

export const POST = tixWebhooks({
  secret: process.env.TIX_SIGNING_SECRET,
  inbox,
  namespace: 'orders',
  on: {
    'order.created': async (event, ctx) => {
      await ctx.tx.insert(Order, { id: event.data.order.id })
    },
  },
})
