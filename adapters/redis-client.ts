import { describeType } from '../src/describe-type.js'
import { StoreError } from '../src/index.js'

/** What is used of a client, or a cluster client, of ioredis. */
export interface IoredisClient {
  evalsha(sha: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>
  eval(script: string, numberOfKeys: number, ...keysAndArguments: string[]): Promise<unknown>
}

/** What is used of a client, a pool or a cluster client of node-redis. */
export interface NodeRedisClient {
  evalSha(sha: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
}

export interface WaitingClient {
  wait(replicas: number, timeoutMs: number): Promise<unknown>
}

/** What only clients of node-redis with several connections have: its pool, its cluster, its Sentinel. */
const SEVERAL_CONNECTIONS = ['clientsInUse', 'nodeClient', 'acquire']

/** WAIT counts the writes of its own connection, so there must be one, and it must be to the primary of the key. */
export function waitingClient(client: object): WaitingClient {
  const hasSeveral = SEVERAL_CONNECTIONS.some((name) => name in client)
  const isCluster = 'isCluster' in client && client.isCluster === true
  if (hasSeveral || isCluster || !isFunction(client, 'wait')) {
    throw new TypeError(
      'replicas needs a client with one connection to one primary: WAIT says nothing of the writes of a pool, a cluster or a Sentinel client of node-redis. Leave replicas out, or pass a single client.',
    )
  }
  return client as WaitingClient
}

/** What the store asks of either library. */
export interface RedisCommands {
  evalSha(sha: string, key: string, args: string[]): Promise<unknown>
  eval(lua: string, key: string, args: string[]): Promise<unknown>
}

/** The two commands, by the spelling of the client's library. */
export function commandsOf(client: IoredisClient | NodeRedisClient): RedisCommands {
  if (isFunction(client, 'evalSha') && isFunction(client, 'eval')) {
    const nodeRedis = client as NodeRedisClient
    return {
      evalSha: (sha, key, args) => nodeRedis.evalSha(sha, { keys: [key], arguments: args }),
      eval: (lua, key, args) => nodeRedis.eval(lua, { keys: [key], arguments: args }),
    }
  }
  if (isFunction(client, 'evalsha') && isFunction(client, 'eval')) {
    const ioredis = client as IoredisClient
    return {
      evalSha: (sha, key, args) => ioredis.evalsha(sha, 1, key, ...args),
      eval: (lua, key, args) => ioredis.eval(lua, 1, key, ...args),
    }
  }
  throw new TypeError(
    `client must be a client of ioredis (new Redis(url)) or of node-redis (await createClient({ url }).connect()), not ${describeType(client)} without their eval and evalsha.`,
  )
}

/**
 * A server that evicts keys forgets what was handled. Not every server tells.
 *
 * @returns whether there is no use in asking again
 */
export async function warnOfEviction(client: object): Promise<boolean> {
  if (!isFunction(client, 'info')) return true
  try {
    const info = String(await (client as { info(section: string): Promise<unknown> }).info('memory'))
    const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1]
    if (policy === undefined || policy === 'noeviction') return true
    console.warn(
      `tix-webhooks: this Redis has maxmemory-policy ${policy}, so when its memory is full it forgets events that were handled, and they run again if they are delivered again. Set it to noeviction, or use another Redis.`,
    )
    return true
  } catch (error) {
    // Where it is forbidden it stays so; where Redis is down, the calls themselves say so.
    return /NOPERM/.test(messageOf(error))
  }
}

function isFunction(client: unknown, name: string): boolean {
  return typeof (client as Record<string, unknown> | null | undefined)?.[name] === 'function'
}

/** What to do about an error of the server or the client, by its message. Redis 5 and 6 put words before that of a script. */
const ADVICE: readonly [says: RegExp, code: 'store_unavailable' | 'store_full', message: string][] = [
  [
    /\bOOM /,
    'store_full',
    'Redis is out of memory (maxmemory) and takes no new events: give it more, or free some. Nothing is lost: the sender comes again.',
  ],
  [
    /\bREADONLY /,
    'store_unavailable',
    'This Redis is a read-only replica: connect the client to the primary, or let it follow a failover (Sentinel, Cluster).',
  ],
  [
    /\b(NOAUTH|NOPERM|WRONGPASS) |user executing the script can't run/,
    'store_unavailable',
    "Redis refuses this client's user: it needs EVALSHA, EVAL, GET, SET, DEL and PTTL on the keys of the prefix, and WAIT for replicas.",
  ],
  [
    /\b(MISCONF|NOREPLICAS) /,
    'store_unavailable',
    'Redis refuses writes: it cannot save its snapshot, or has fewer replicas than it must.',
  ],
  [/\b(MOVED|ASK|CROSSSLOT) /, 'store_unavailable', 'This Redis is a cluster: pass a cluster client.'],
  [
    /\b(LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN) /,
    'store_unavailable',
    'Redis is starting, or failing over. Nothing is lost: the sender comes again.',
  ],
  [
    /WRONGTYPE /,
    'store_unavailable',
    'A key of the prefix holds something else than a record of ours: give the store a prefix that nobody else uses.',
  ],
  [
    /client is closed|^Connection is closed/,
    'store_unavailable',
    'The Redis client is closed: connect it before the app listens, and drain the receiver before you quit it.',
  ],
]

export function unavailable(cause: unknown): StoreError {
  const text = messageOf(cause)
  const [
    ,
    code = 'store_unavailable',
    message = 'Redis could not be reached, or did not answer as it should: is it up, and does the client reconnect?',
  ] = ADVICE.find(([says]) => says.test(text)) ?? []
  return new StoreError(code, message, { cause })
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
