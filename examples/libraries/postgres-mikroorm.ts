// An inbox over MikroORM, for Postgres.
import { EntitySchema, MikroORM, type SqlEntityManager } from '@mikro-orm/postgresql'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { postgresInbox } from 'tix-webhooks/postgres'

const Order = new EntitySchema<{ id: string }>({
  name: 'Order',
  tableName: 'orders',
  properties: { id: { type: 'text', primary: true } },
})
const clientUrl = process.env.DATABASE_URL ?? ''
const orm = await MikroORM.init({ clientUrl, entities: [Order], pool: { min: 0, max: 20 } })

const inbox = postgresInbox<SqlEntityManager>({
  transaction: (work) => orm.em.fork().transactional(work),
  async query(em, text, parameters) {
    const values: unknown[] = [] // MikroORM has ? for each use of a parameter
    const raw = text.replace(/\$(\d+)/g, (_, n) => `${values.push(parameters[n - 1]) && '?'}`)
    return em.execute(raw, values)
  },
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
