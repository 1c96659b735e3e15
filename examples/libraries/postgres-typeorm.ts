// An inbox over TypeORM, for Postgres.
import { tixWebhooks } from 'tix-webhooks/fetch'
import { postgresInbox } from 'tix-webhooks/postgres'
import { DataSource, type EntityManager, EntitySchema } from 'typeorm'

const Order = new EntitySchema<{ id: string }>({
  name: 'Order',
  tableName: 'orders',
  columns: { id: { type: 'text', primary: true } },
})
const url = process.env.DATABASE_URL ?? ''
const dataSource = new DataSource({ type: 'postgres', url, poolSize: 20, entities: [Order] })
await dataSource.initialize()

const inbox = postgresInbox<EntityManager>({
  transaction: (work) => dataSource.transaction(work),
  query: async (manager, text, parameters) =>
    (await manager.queryRunner?.query(text, [...parameters], true))?.records ?? [],
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
