// An inbox over Slonik, for Postgres.
import { createPool, type DatabaseTransactionConnection, sql } from 'slonik'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { postgresInbox } from 'tix-webhooks/postgres'

const pool = await createPool(process.env.DATABASE_URL ?? '', { maximumPoolSize: 20 })

const inbox = postgresInbox<DatabaseTransactionConnection>({
  transaction: (work) => pool.transaction(work, 0), // without retries: the sender retries
  refusesLate: true, // it closes the connection of a handler that has failed itself
  query: (tx, text, parameters) =>
    tx.any({ ...sql.unsafe``, sql: text, values: [...parameters] as string[] }) as Promise<
      Record<string, unknown>[]
    >,
})

export const POST = tixWebhooks({
  secret: process.env.TIX_SIGNING_SECRET,
  inbox,
  namespace: 'orders',
  on: {
    'order.created': async (event, ctx) => {
      await ctx.tx.query(sql.unsafe`INSERT INTO orders (id) VALUES (${event.data.order.id})`)
    },
  },
})
