import { Redis } from 'ioredis'
import { createClient } from 'redis'
import type { IdempotencyStore } from 'tix-webhooks'
import { redisStore } from 'tix-webhooks/redis'

/** One app's connection to the records and effects. */
export interface Access {
  readonly store: IdempotencyStore
  /** The handler's effect. */
  effect(order: string, attempt: number | undefined): Promise<unknown>
  close(): Promise<unknown>
}

interface RedisPlace {
  readonly url: string
  /** The prefix of all keys. */
  readonly place: string
}

export type RedisClientName = 'ioredis' | 'node-redis'

/** Opens a client as an app would: with the options of its library, and the listener that both libraries need. */
export const REDIS: Readonly<Record<RedisClientName, (place: RedisPlace) => Promise<Access>>> = {
  async ioredis({ url, place }) {
    const client = new Redis(url)
    // Without it, ioredis prints each failure to connect.
    client.on('error', () => {})
    return {
      store: redisStore(client, { prefix: `${place}record:` }),
      effect: (order, attempt) => client.rpush(`${place}effect:${order}`, String(attempt)),
      close: async () => client.disconnect(),
    }
  },

  async 'node-redis'({ url, place }) {
    const client = createClient({ url })
    // Without it, a connection that breaks ends the process.
    client.on('error', () => {})
    await client.connect()
    return {
      store: redisStore(client, { prefix: `${place}record:` }),
      effect: (order, attempt) => client.rPush(`${place}effect:${order}`, String(attempt)),
      close: async () => client.destroy(),
    }
  },
}
