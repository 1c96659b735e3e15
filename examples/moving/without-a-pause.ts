// From a store, while the old version still serves: each event is claimed in the old store too, so that the old version takes it for one
// that another of its processes handles, and answers 503. The token is the same in all processes of the new version.
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { RetryLater } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { postgresInbox } from 'tix-webhooks/postgres'
import { redisStore } from 'tix-webhooks/redis'

const redis = new Redis(process.env.REDIS_URL ?? '').on('error', (error) => console.error(error.message))
const pool = new Pool({ connectionTimeoutMillis: 2_000 }).on('error', (error) => console.error(error.message))
const oldStore = redisStore(redis)
const inbox = postgresInbox(pool)
await inbox.migrate() // when you deploy

const HOUR_MS = 3_600_000 // longer than the deploy takes

export const POST = tixWebhooks({
  secret: process.env.TIX_SIGNING_SECRET,
  inbox,
  namespace: 'orders',
  handledBefore: async (_, { keyIn }) => {
    const claim = { key: keyIn('orders'), token: 'moving', leaseMs: HOUR_MS, retainMs: HOUR_MS }
    const { status } = await oldStore.claim(claim)
    if (status === 'in_flight')
      throw new RetryLater({ afterSeconds: 5, reason: 'the old version is handling it' })
    return status === 'completed'
  },
  on: {
    'order.created': async ({ data }, ctx) => {
      await ctx.tx.query('INSERT INTO tickets (order_id) VALUES ($1)', [data.order.id])
    },
  },
})
