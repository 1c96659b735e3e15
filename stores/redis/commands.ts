import { describeType } from '../../src/internal.js'
import {
  type IoredisClient,
  isFunction,
  type NodeRedisClient,
  type RedisStoreClient,
  SUBSCRIBED,
  type UpstashRedisClient,
} from './client.js'
import { senderOf } from './connection.js'

/** The two commands of the store, by any of the libraries. */
export interface RedisCommands {
  evalSha(sha: string, key: string, args: string[]): Promise<unknown>
  eval(lua: string, key: string, args: string[]): Promise<unknown>
}

/** @throws TypeError when it is not a client, or one that subscribes */
export function commandsOf(client: RedisStoreClient): RedisCommands {
  const isNodeRedis = isFunction(client, 'evalSha')
  if (!(isNodeRedis || isFunction(client, 'evalsha')) || !isFunction(client, 'eval')) {
    throw new TypeError(
      `client must be a client of ioredis (new Redis(url)), of node-redis (await createClient({ url }).connect()) or of @upstash/redis (Redis.fromEnv()), not ${describeType(client)} without their eval and evalsha.`,
    )
  }
  const { mode, isPubSubActive, options } = client as Subscribing
  if (mode === 'subscriber' || mode === 'monitor' || (isPubSubActive === true && options?.RESP === 2)) {
    throw new TypeError(`client must not be one that ${SUBSCRIBED}`)
  }
  if (isNodeRedis) {
    const send = senderOf(client as NodeRedisClient)
    return {
      evalSha: (sha, key, args) => send((on) => on.evalSha(sha, { keys: [key], arguments: args })),
      eval: (lua, key, args) => send((on) => on.eval(lua, { keys: [key], arguments: args })),
    }
  }
  if (isFunction(client, 'createScript')) {
    const upstash = client as UpstashRedisClient
    return {
      evalSha: (sha, key, args) => upstash.evalsha(sha, [key], args),
      eval: (lua, key, args) => upstash.eval(lua, [key], args),
    }
  }
  const send = senderOf(client as IoredisClient)
  return {
    evalSha: (sha, key, args) => send((on) => on.evalsha(sha, 1, key, ...args)),
    eval: (lua, key, args) => send((on) => on.eval(lua, 1, key, ...args)),
  }
}

interface Subscribing {
  readonly mode?: unknown
  readonly isPubSubActive?: unknown
  readonly options?: { readonly RESP?: unknown } | null
}
