import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { redisStore } from 'tix-webhooks/redis'
import { CLAIM, COMPLETE } from '../../adapters/redis/scripts.js'
import {
  type Arena,
  type Contender,
  IN_FLIGHT,
  LEASE_MS,
  NEARLY_AS_FAST,
  nextToken,
  RETAIN_MS,
  throughStore,
} from './contender.js'

const WHAT = 'SET NX PX, then SET PX'

/** The server's share of the difference: the same work without our code around it. */
async function scriptsByHand(
  evalSha: (sha: string, key: string, args: string[]) => Promise<unknown>,
): Promise<Contender> {
  const [claim = '', complete = ''] = await Promise.all([CLAIM.sha(), COMPLETE.sha()])
  return {
    name: "EVALSHA of the store's scripts",
    async deliver(key) {
      const token = nextToken()
      const claimed = await evalSha(claim, key, [token, `${RETAIN_MS}`, `${RETAIN_MS - LEASE_MS}`])
      if (claimed === 0) return false
      await evalSha(complete, key, [token, `${RETAIN_MS}`])
      return true
    },
  }
}

/** Both clients have one connection, on which they send without waiting for replies. */
export function redisArenas(port: number): Promise<Arena[]> {
  return Promise.all([ioredisArena(port), nodeRedisArena(port)])
}

async function ioredisArena(port: number): Promise<Arena> {
  const client = new Redis({ host: '127.0.0.1', port })
  const byHand: Contender = {
    name: WHAT,
    goal: NEARLY_AS_FAST,
    async deliver(key) {
      if ((await client.set(key, nextToken(), 'PX', LEASE_MS, 'NX')) === null) return false
      await client.set(key, 'done', 'PX', RETAIN_MS)
      return true
    },
  }
  return {
    name: 'redisStore, ioredis',
    ours: throughStore('redisStore', redisStore(client)),
    byHand: [byHand, await scriptsByHand((sha, key, args) => client.evalsha(sha, 1, key, ...args))],
    inFlight: IN_FLIGHT,
    close: async () => client.disconnect(),
  }
}

async function nodeRedisArena(port: number): Promise<Arena> {
  const client = await createClient({ socket: { host: '127.0.0.1', port } }).connect()
  const byHand: Contender = {
    name: WHAT,
    goal: NEARLY_AS_FAST,
    async deliver(key) {
      const expiration = { type: 'PX', value: LEASE_MS } as const
      if ((await client.set(key, nextToken(), { condition: 'NX', expiration })) === null) return false
      await client.set(key, 'done', { expiration: { type: 'PX', value: RETAIN_MS } })
      return true
    },
  }
  return {
    name: 'redisStore, node-redis',
    ours: throughStore('redisStore', redisStore(client)),
    byHand: [
      byHand,
      await scriptsByHand((sha, key, args) => client.evalSha(sha, { keys: [key], arguments: args })),
    ],
    inFlight: IN_FLIGHT,
    close: async () => client.destroy(),
  }
}
