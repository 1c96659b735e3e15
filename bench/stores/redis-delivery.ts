import { Redis } from 'ioredis'
import { createReceiver } from 'tix-webhooks'
import { redisStore } from 'tix-webhooks/redis'
import { limit } from '../receiver/limit.js'
import { SECRET, type SignedOrder, signedOrders } from '../receiver/orders.js'
import { deliver } from '../receiver/receivers.js'
import type { Bench, Group } from '../support/bench.js'
import { type Comparison, timeBeside } from '../support/comparison.js'
import { alternateWarm, cpuTimeOf, PROCESSOR_TIME } from '../support/cpu-time.js'
import type { Goal } from '../support/goal.js'
import type { Table } from '../support/report.js'
import { LEASE_MS, nextToken, RETAIN_MS } from './contender.js'

/** The cost in our own process of a delivery with a record in Redis, without the wait for the server. */
export const redisDelivery: Group = {
  id: 'redis',
  measure: async (bench) => [await deliveries(bench)],
}

const GOALS: ReadonlyMap<number, Goal> = new Map([
  [1, { atMost: 1.5 }],
  [16, { atMost: 1.1 }],
])

async function deliveries(bench: Bench): Promise<Table> {
  const { port } = await bench.redis()
  const client = new Redis({ host: '127.0.0.1', port })
  const handler = async (): Promise<void> => {}
  const receiver = createReceiver({
    secret: SECRET,
    on: { 'order.created': handler },
    store: redisStore(client),
    namespace: 'bench',
  })
  const verify = limit(SECRET)
  async function byHand({ body, header }: SignedOrder): Promise<void> {
    const event = verify(body, header) as { data: { order: { id: string } } }
    const key = `by-hand/${event.data.order.id}`
    if ((await client.set(key, nextToken(), 'PX', LEASE_MS, 'NX')) === null) throw new Error('Not new')
    await handler()
    await client.set(key, 'done', 'PX', RETAIN_MS)
  }

  const count = bench.size(1_000, 160)
  const comparisons: Comparison[] = []
  for (const [inFlight, goal] of GOALS) {
    bench.progress(`redis: ${inFlight} in flight`)
    const contestants = [(order: SignedOrder) => deliver(receiver, order, 'handled'), byHand]
    const [ours = [], theirs = []] = await alternateWarm(
      bench.size(24, 2),
      contestants.map((take) => async () => {
        const waiting = await signedOrders(count)
        let next = 0
        return cpuTimeOf(() => take(waiting[next++] as SignedOrder), count, inFlight)
      }),
    )
    const our = { name: `receive(), redisStore, ${inFlight} in flight`, figures: ours }
    comparisons.push(timeBeside(our, { name: 'the limit, SET NX PX, SET PX', figures: theirs }, goal))
  }
  client.disconnect()
  return {
    title: 'A whole new delivery with its record in Redis',
    ratio: 'The time of our process, to that by hand',
    unit: PROCESSOR_TIME,
    comparisons,
    notes: [
      'Through ioredis; of our process alone, not of the server. Orders of 0.3 KB, an async handler that does nothing. By hand there is no owner, no attempt, no time limit and no check of the data.',
    ],
  }
}
