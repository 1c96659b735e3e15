import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { redisStore } from 'tix-webhooks/redis'
import type { OpenStore } from './proof-clients.js'

/** Opens a client as an app would: with the options of its library, and the listener that both libraries need. */
export const REDIS = {
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
} satisfies Record<string, OpenStore>
