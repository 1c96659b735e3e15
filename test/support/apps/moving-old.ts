// The old versions of all moves, in one process.

import { Redis } from 'ioredis'
import Database from 'libsql'
import type { PoolClient } from 'pg'
import type { WebhookOptions } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { postgresInbox, postgresStore } from 'tix-webhooks/postgres'
import { redisStore } from 'tix-webhooks/redis'
import { sqliteStore } from 'tix-webhooks/sqlite'
import { SECRET } from '../deliveries.js'
import { legacyReceiver } from '../legacy-receiver.js'
import { closedBy, issue, pool, type Route, routeOf, serveRoutes } from './moving.js'

const redis = new Redis(String(process.env.REDIS_URL)).on('error', () => {})

type Options = Partial<Pick<WebhookOptions<Request>, 'store' | 'key'>>

const withStore = (options: Options) =>
  routeOf(
    tixWebhooks({
      secret: SECRET,
      ...options,
      ...(options.store && { namespace: 'orders' }),
      on: { 'order.created': ({ data }) => issue(data.order.id) },
      onError() {},
    }),
  )

const withInbox = () =>
  routeOf(
    tixWebhooks<PoolClient>({
      secret: SECRET,
      inbox: postgresInbox(pool),
      namespace: 'orders',
      on: {
        'order.created': async ({ data }, ctx) =>
          void (await ctx.tx.query('INSERT INTO tickets (order_id) VALUES ($1)', [data.order.id])),
      },
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

const OLD: Readonly<Record<string, () => Route | Promise<Route>>> = {
  byHand,
  memory: () => withStore({}),
  redis: () => withStore({ store: redisStore(redis) }),
  postgres: () => withStore({ store: postgresStore(pool) }),
  inbox: withInbox,
  async sqlite() {
    const store = sqliteStore(new Database(String(process.env.DATABASE_FILE)))
    store.migrate()
    return withStore({ store })
  },
}

/** The name of each move, and of what it moves from. */
const moves: readonly (readonly [move: string, from: string])[] = JSON.parse(String(process.argv[2]))
const routes = await Promise.all(
  moves.map(async ([move, from]) => [move, await OLD[from]?.()] as [string, Route]),
)
serveRoutes(Object.fromEntries(routes))
