/** The part of a client, or a cluster client, of ioredis that is used. */
export interface IoredisClient {
  evalsha(sha: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>
  eval(script: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>
}

/** The part of a client, a pool or a cluster client of node-redis that is used. */
export interface NodeRedisClient {
  evalSha(sha: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
}

/** The part of a client of @upstash/redis that is used. */
export interface UpstashRedisClient {
  evalsha(sha: string, keys: string[], args: string[]): Promise<unknown>
  eval(script: string, keys: string[], args: string[]): Promise<unknown>
  createScript(script: string): unknown
}

/** A client of any of the libraries. */
export type RedisStoreClient = IoredisClient | NodeRedisClient | UpstashRedisClient

/** Whether it follows the slots of a cluster. */
export function isClusterClient(client: object): boolean {
  return ('isCluster' in client && client.isCluster === true) || 'nodeClient' in client
}

export const SUBSCRIBED =
  'subscribes or monitors: it can run no other commands. Give the store a connection of its own: redisStore(new Redis(url)) with ioredis, redisStore(await client.duplicate().connect()) with node-redis.'

export function isFunction(client: unknown, name: string): boolean {
  return typeof (client as Record<string, unknown> | null | undefined)?.[name] === 'function'
}
