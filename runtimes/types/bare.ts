// The entries that need neither the types of a browser nor those of Node. Only compiled.
import { createReceiver, type IdempotencyStore, memoryStore } from 'tix-webhooks'
import { mysqlStore } from 'tix-webhooks/mysql'
import { postgresStore } from 'tix-webhooks/postgres'
import { redisStore } from 'tix-webhooks/redis'
import { sqliteStore } from 'tix-webhooks/sqlite'

declare global {
  // Of these the types of every runtime have one.
  interface AbortSignal {
    readonly aborted: boolean
  }
}

export const { receive } = createReceiver<string>({
  secret: 'whsec_bare',
  store: memoryStore(),
  namespace: 'bare',
  on: { 'order.created': async (event, ctx) => void `${event.data.order.id} ${ctx.request} ${ctx.attempt}` },
})

export const made: ((client: never) => IdempotencyStore)[] = [
  postgresStore,
  mysqlStore,
  redisStore,
  sqliteStore,
]
