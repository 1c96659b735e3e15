// Long work in a queue, with BullMQ beside a store: the handler adds a job and returns. The job's id is the event's key, so a
// process that dies after adding the job and before recording the event does not cause a second job.
// Start it with the endpoint's secret and a Redis (maxmemory-policy noeviction, appendonly yes):
//   TIX_SIGNING_SECRET=whsec_… REDIS_URL=redis://… npx tsx examples/bullmq.ts
import { createServer } from 'node:http'
import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import type { OrderCreatedData } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/node'
import { redisStore } from 'tix-webhooks/redis'

const logError = (error: Error) => console.error(error.message)

export const redis = new Redis(process.env.REDIS_URL ?? 'redis://localhost:6379')
redis.on('error', logError)

export const queue = new Queue<OrderCreatedData>('tickets', {
  connection: redis,
  defaultJobOptions: {
    // By default a failed job is not retried, and the sender already has its 200.
    attempts: 10,
    backoff: { type: 'exponential', delay: 1000 },
    // A job that is removed takes its id with it: keep it for longer than the sender retries.
    removeOnComplete: { age: 7 * 24 * 3600 },
  },
})
queue.on('error', logError)

const hooks = tixWebhooks({
  secret: process.env.TIX_SIGNING_SECRET,
  store: redisStore(redis),
  namespace: 'orders',
  on: {
    'order.created': async (event, ctx) => {
      // BullMQ refuses ids with a colon, and ids that are whole numbers.
      const id = ctx.key === null ? {} : { jobId: encodeURIComponent(ctx.key) }
      await queue.add('issue', event.data, id)
    },
  },
})

export const server = createServer(hooks).listen(Number(process.env.PORT ?? 3000))

// In your app, a separate process.
const workerRedis = redis.duplicate({ maxRetriesPerRequest: null })
workerRedis.on('error', logError)
const worker = new Worker<OrderCreatedData>(
  'tickets',
  async ({ id, data }) => {
    // BullMQ may run a job again: give the other side its id as an idempotency key.
    console.info(`job ${id}: ${data.tickets.length} tickets for ${data.order.buyer_email}`)
  },
  { connection: workerRedis },
)
worker.on('error', logError)

export async function stop(): Promise<void> {
  await hooks.drain()
  // The connections that clients keep open.
  setTimeout(() => server.closeAllConnections(), 3_000).unref()
  await new Promise((resolve) => server.close(resolve))
  await worker.close()
  await queue.close()
  workerRedis.disconnect()
  redis.disconnect()
}

process.once('SIGTERM', stop)
