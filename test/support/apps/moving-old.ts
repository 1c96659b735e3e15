// The old versions of all moves, in one process.

import { Redis } from 'ioredis'
import type { IdempotencyStore } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { postgresStore } from 'tix-webhooks/postgres'
import { redisStore } from 'tix-webhooks/redis'
import { SECRET } from '../deliveries.js'
import { legacyReceiver } from '../legacy-receiver.js'
import { closedBy, issue, pool, type Route, routeOf, serveRoutes } from './moving.js'

const redis = new Redis(String(process.env.REDIS_URL)).on('error', () => {})

const withStore = (store: IdempotencyStore) =>
  routeOf(
    tixWebhooks({
      secret: SECRET,
      store,
      namespace: 'orders',
      on: { 'order.created': ({ data }) => issue(data.order.id) },
      onError() {},
    }),
  )

const byHand = () =>
  closedBy(
    legacyReceiver({
      secret: SECRET,
      async mark(id) {
        const insert = 'INSERT INTO processed_events (id) VALUES ($1) ON CONFLICT DO NOTHING'
        return (await pool.query(insert, [id])).rowCount === 1
      },
      issueTickets: issue,
    }),
  )

const OLD: Readonly<Record<string, () => Route>> = {
  byHand,
  redis: () => withStore(redisStore(redis)),
  postgres: () => withStore(postgresStore(pool)),
}

/** The name of each move, and of what it moves from. */
const moves: readonly (readonly [move: string, from: string])[] = JSON.parse(String(process.argv[2]))
serveRoutes(Object.fromEntries(moves.map(([move, from]) => [move, (OLD[from] as () => Route)()])))
