import { Redis, type RedisOptions } from 'ioredis'
import { createClient } from 'redis'
import type { ClaimRequest, RemoteStore } from 'tix-webhooks'
import { type RedisStoreOptions, redisStore } from 'tix-webhooks/redis'
import { onTestFinished } from 'vitest'

/** This option changes the type of the client. */
type IoredisOptions = Omit<RedisOptions, 'replyMapping'>

export type RedisClient = Parameters<typeof redisStore>[0]

/** One of the two client libraries, as the tests use it. */
export interface RedisLibrary {
  readonly name: 'ioredis' | 'node-redis'
  /** Connects a client that reconnects fast, and is closed when the test ends. */
  connect(url: string): Promise<RedisClient>
}

const ioredisLibrary: RedisLibrary = { name: 'ioredis', connect: connectIoredis }
const nodeRedisLibrary: RedisLibrary = { name: 'node-redis', connect: connectNodeRedis }
export const LIBRARIES: readonly RedisLibrary[] = [ioredisLibrary, nodeRedisLibrary]

/** A connected ioredis client that is closed when the test ends. */
export async function connectIoredis(url: string, options: IoredisOptions = {}): Promise<Redis> {
  const client = lazyIoredis(url, options)
  await client.connect()
  return client
}

/** An ioredis client that connects at its first command, and is closed when the test ends. */
export function lazyIoredis(url: string, options: IoredisOptions = {}): Redis {
  const client = new Redis(url, { retryStrategy: () => 20, ...options, lazyConnect: true })
  // The commands report failures; without a listener it prints each failed reconnection.
  client.on('error', () => {})
  onTestFinished(() => client.disconnect())
  return client
}

/** A connected node-redis client that is closed when the test ends. */
export async function connectNodeRedis(url: string, { RESP = 3 }: { RESP?: 2 | 3 } = {}) {
  const client = createClient({ url, RESP, socket: { reconnectStrategy: () => 20 } })
  client.on('error', () => {})
  onTestFinished(() => {
    if (client.isOpen) client.destroy()
  })
  await client.connect()
  return client
}

/** A store on its own connection. */
export async function openStore(
  library: RedisLibrary,
  url: string,
  options?: RedisStoreOptions,
): Promise<RemoteStore> {
  return redisStore(await library.connect(url), options)
}

export const HOUR_MS = 3_600_000

/** A claim whose lease outlives any test. */
export function claimOf(key: string, token: string, times: Partial<ClaimRequest> = {}): ClaimRequest {
  return { key, token, leaseMs: HOUR_MS, retainMs: 2 * HOUR_MS, ...times }
}

/** One call of each method, and its answer if the lease is running. */
export const METHODS = [
  {
    name: 'claim',
    call: (store: RemoteStore, key: string, token: string) => store.claim(claimOf(key, token)),
    answer: { status: 'claimed', attempt: 1 },
  },
  {
    name: 'renew',
    call: (store: RemoteStore, key: string, token: string) => store.renew({ key, token }, HOUR_MS),
    answer: true,
  },
  {
    name: 'complete',
    call: (store: RemoteStore, key: string, token: string) => store.complete({ key, token }, HOUR_MS),
    answer: true,
  },
  {
    name: 'release',
    call: (store: RemoteStore, key: string, token: string) => store.release({ key, token }),
    answer: true,
  },
] as const

/** Each method with each library. */
export const CALLS = LIBRARIES.flatMap((library) =>
  METHODS.map((method) => ({ library, method, with: library.name, name: method.name })),
)

/** How often a server ran a command, by its lower-case name. */
export async function callsOf(admin: Redis, command: string): Promise<number> {
  const stats = await admin.info('commandstats')
  return Number(new RegExp(`^cmdstat_${command}:calls=(\\d+)`, 'm').exec(stats)?.[1] ?? 0)
}
