import { StoreError } from '../../src/index.js'
import { describeType, messageOf } from '../../src/store-kit.js'

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

/** What is used of a client of @upstash/redis. */
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

/** What the store asks of any of the libraries. */
export interface RedisCommands {
  evalSha(sha: string, key: string, args: string[]): Promise<unknown>
  eval(lua: string, key: string, args: string[]): Promise<unknown>
}

/**
 * The two commands, by the spelling of the client's library.
 *
 * @throws TypeError when it is no client, or one that cannot answer
 */
export function commandsOf(client: RedisStoreClient): RedisCommands {
  const isNodeRedis = isFunction(client, 'evalSha')
  if (!(isNodeRedis || isFunction(client, 'evalsha')) || !isFunction(client, 'eval')) {
    throw new TypeError(
      `client must be a client of ioredis (new Redis(url)), of node-redis (await createClient({ url }).connect()) or of @upstash/redis (Redis.fromEnv()), not ${describeType(client)} without their eval and evalsha.`,
    )
  }
  refuseUnanswering(client)
  if (isNodeRedis) {
    const nodeRedis = client as NodeRedisClient
    return {
      evalSha: (sha, key, args) => nodeRedis.evalSha(sha, { keys: [key], arguments: args }),
      eval: (lua, key, args) => nodeRedis.eval(lua, { keys: [key], arguments: args }),
    }
  }
  if (isFunction(client, 'createScript')) {
    const upstash = client as UpstashRedisClient
    return {
      evalSha: (sha, key, args) => upstash.evalsha(sha, [key], args),
      eval: (lua, key, args) => upstash.eval(lua, [key], args),
    }
  }
  const ioredis = client as IoredisClient
  return {
    evalSha: (sha, key, args) => ioredis.evalsha(sha, 1, key, ...args),
    eval: (lua, key, args) => ioredis.eval(lua, 1, key, ...args),
  }
}

/** What has the methods of a client and cannot answer a call: a store on it would fail at each delivery. */
function refuseUnanswering(client: object): void {
  const { mode, isPubSubActive, options } = client as {
    readonly mode?: unknown
    readonly isPubSubActive?: unknown
    readonly options?: { readonly RESP?: unknown } | null
  }
  const isConnecting = isFunction(client, 'connect') || isFunction(client, 'createScript')
  if (isFunction(client, 'exec') && !isConnecting) {
    throw new TypeError(
      'client must not be a pipeline, a transaction or a script (multi(), pipeline(), createScript()), which sends nothing before exec(). Pass the client that it was made from: redisStore(client).',
    )
  }
  if (isFunction(client, 'evalSha') && isFunction(client, 'sendCommand') && !isConnecting) {
    throw new TypeError(
      'client must not be a legacy client, whose calls return no promise. Pass the client that legacy() was called on: redisStore(client), and client.legacy() for the rest of the app.',
    )
  }
  if (mode === 'subscriber' || mode === 'monitor' || (isPubSubActive === true && options?.RESP === 2)) {
    throw new TypeError(`client must not be one that ${SUBSCRIBED}`)
  }
}

const SUBSCRIBED =
  'subscribes or monitors: it can run no other commands. Give the store a connection of its own: redisStore(new Redis(url)) with ioredis, redisStore(await client.duplicate().connect()) with node-redis.'

const told = new WeakSet<object>()

/** Warns, once for each client, that a server evicts keys, and so forgets what was handled. Not every server tells. */
export function warnOfEvictionOnce(client: object): void {
  if (told.has(client)) return
  told.add(client)
  void warnOfEviction(client).then((isOver) => isOver || told.delete(client))
}

/** @returns whether there is no use in asking again */
async function warnOfEviction(client: object): Promise<boolean> {
  if (!isFunction(client, 'info')) return true
  try {
    const info = String(await (client as { info(section: string): Promise<unknown> }).info('memory'))
    const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1]
    if (policy === undefined || policy === 'noeviction') return true
    console.warn(
      `tix-webhooks: this Redis has maxmemory-policy ${policy}. When its memory is full it forgets events that were handled, which run again if they are delivered again, and events that are running, which then run twice at the same time. Set it to noeviction, or use another Redis.`,
    )
    return true
  } catch (error) {
    // Where it is forbidden it stays so; where Redis is down, the calls themselves say so.
    return wordsOf(error).includes('NOPERM')
  }
}

export function isFunction(client: unknown, name: string): boolean {
  return typeof (client as Record<string, unknown> | null | undefined)?.[name] === 'function'
}

const FAILING_OVER = 'Redis is starting, failing over or moving slots. Nothing is lost: the sender retries.'
const REDIRECTION = /\b(MOVED|ASK|CROSSSLOT) /

/** What to do about an error of the server or the client, by its message. Redis 5 and 6 put words before that of a script. */
const ADVICE: readonly [says: RegExp, code: 'store_unavailable' | 'store_full', message: string][] = [
  [
    /\bOOM /,
    'store_full',
    'Redis is out of memory (maxmemory) and takes no new events: give it more, or free some. Nothing is lost: the sender retries.',
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
  [
    // A cluster client follows so many redirections, and then passes on the last: first, because it may be a MOVED.
    /^Too many Cluster redirections|\b(LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN) /,
    'store_unavailable',
    FAILING_OVER,
  ],
  [REDIRECTION, 'store_unavailable', 'This Redis is a cluster: pass a cluster client.'],
  [
    /WRONGTYPE /,
    'store_unavailable',
    'A key of the prefix holds something other than a record of this store: give the store a prefix of its own.',
  ],
  [
    /\b(subscriber|monitoring) mode\b|SUBSCRIBE .* allowed in this context/,
    'store_unavailable',
    `This Redis client ${SUBSCRIBED}`,
  ],
  [
    /client is closed|^Connection is closed/,
    'store_unavailable',
    'The Redis client is closed: connect it before the app listens, and drain the receiver before you quit it.',
  ],
]

/** Replies of a server that is up and may know the event. */
const REFUSED =
  /\b(READONLY|NOAUTH|NOPERM|WRONGPASS|MISCONF|NOREPLICAS|WRONGTYPE) |user executing the script can't run/

/** What a call that failed is reported as. */
export function unavailable(cause: unknown, client: object): StoreError {
  const words = wordsOf(cause)
  let [
    ,
    code = 'store_unavailable' as const,
    message = 'Redis could not be reached, or did not answer as it should: is it up, and does the client reconnect?',
  ] = ADVICE.find(([says]) => says.test(words)) ?? []
  if (REDIRECTION.test(words) && isClusterClient(client)) message = FAILING_OVER
  return new StoreError(code, message, { cause, answered: REFUSED.test(words) })
}

/** Whether the server does not have a script, because it is new or was restarted. */
export function lacksScript(error: unknown): boolean {
  return wordsOf(error).startsWith('NOSCRIPT')
}

/** What Redis said. @upstash/redis puts words before that, and the command behind it, in which any word may stand. */
function wordsOf(error: unknown): string {
  return (
    messageOf(error)
      .replace(/^Command (\d+ \[ \w+ \] )?failed: /, '')
      .split(', command was: [', 1)[0] ?? ''
  )
}
