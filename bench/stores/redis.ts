import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { redisStore } from 'tix-webhooks/redis'
import { type Arena, LEASE_MS, nextToken, RETAIN_MS, throughStore } from './contender.js'

const BY_HAND = 'SET NX PX, then SET PX'

/** Both clients have one connection, on which they send without waiting for replies. */
export function redisArenas(port: number): Promise<Arena[]> {
  return Promise.all([ioredisArena(port), nodeRedisArena(port)])
}

async function ioredisArena(port: number): Promise<Arena> {
  const client = new Redis({ host: '127.0.0.1', port })
  return {
    ours: throughStore('redisStore, ioredis', redisStore(client)),
    byHand: {
      name: BY_HAND,
      async deliver(key) {
        if ((await client.set(key, nextToken(), 'PX', LEASE_MS, 'NX')) === null) return false
        await client.set(key, 'done', 'PX', RETAIN_MS)
        return true
      },
    },
    close: async () => client.disconnect(),
  }
}

async function nodeRedisArena(port: number): Promise<Arena> {
  const client = await createClient({ socket: { host: '127.0.0.1', port } }).connect()
  return {
    ours: throughStore('redisStore, node-redis', redisStore(client)),
    byHand: {
      name: BY_HAND,
      async deliver(key) {
        const expiration = { type: 'PX', value: LEASE_MS } as const
        if ((await client.set(key, nextToken(), { condition: 'NX', expiration })) === null) return false
        await client.set(key, 'done', { expiration: { type: 'PX', value: RETAIN_MS } })
        return true
      },
    },
    close: async () => client.destroy(),
  }
}
