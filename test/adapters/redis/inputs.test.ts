import { Redis as Upstash } from '@upstash/redis'
import * as ioredisModule from 'ioredis'
import { Cluster, Redis } from 'ioredis'
import { Pool } from 'pg'
import { createClient, createClientPool, createCluster } from 'redis'
import { type IdempotencyStore, memoryStore } from 'tix-webhooks'
import { type RedisStoreOptions, redisStore } from 'tix-webhooks/redis'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { notRefusedInputs, notRefusedRequests } from '../../support/invalid-inputs.js'
import { onOwnRedis, onRedis, redisPrefix, redisUrl } from '../../support/on-servers.js'
import {
  claimOf,
  connectIoredis,
  connectNodeRedis,
  HOUR_MS,
  LIBRARIES,
  openStore,
  type RedisClient,
} from '../../support/redis-clients.js'
import { startRedis } from '../../support/redis-server.js'

// Each is the real one, and none of them connects before it is used.
const ioredis = new Redis({ lazyConnect: true })
const cluster = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true })
const nodeRedis = createClient()
const nodeCluster = createCluster({ rootNodes: [{ url: 'redis://127.0.0.1:1' }] })
const upstash = new Upstash({ url: 'http://127.0.0.1:1', token: 'a-token' })
const oneByOne = new Upstash({ url: 'http://127.0.0.1:1', token: 'a-token', enableAutoPipelining: false })

const NO_CLIENT =
  /ioredis \(new Redis\(url\)\), of node-redis \(await createClient\(.*@upstash\/redis \(Redis\.fromEnv/
const NOT_SENT = /must not be a pipeline, a transaction or a script .*before exec\(\).* redisStore\(client\)/
const LEGACY = /must not be a legacy client.* redisStore\(client\), and client\.legacy\(\) for the rest/
const SUBSCRIBED = /^client must not be one that subscribes or monitors: .* redisStore\(new Redis\(url\)\)/

test('redisStore refuses anything but a client that can answer, and names what it accepts', () => {
  const rows: [client: unknown, message: RegExp][] = [
    [undefined, NO_CLIENT],
    [null, NO_CLIENT],
    ['redis://localhost', NO_CLIENT],
    [6379, NO_CLIENT],
    [{}, NO_CLIENT],
    [new Pool({ max: 0 }), NO_CLIENT],
    [memoryStore(), NO_CLIENT],
    [Redis, NO_CLIENT],
    [ioredisModule, NO_CLIENT],
    [{ url: 'redis://localhost', eval: true, evalsha: true }, NO_CLIENT],
    [{ eval: async () => 1 }, NO_CLIENT],
    [Promise.resolve(nodeRedis), /not a promise without/],
    [ioredis.pipeline(), NOT_SENT],
    [ioredis.multi(), NOT_SENT],
    [cluster.pipeline(), NOT_SENT],
    [nodeRedis.multi(), NOT_SENT],
    [nodeCluster.multi(), NOT_SENT],
    [createClientPool().multi(), NOT_SENT],
    [upstash.pipeline(), NOT_SENT],
    [oneByOne.multi(), NOT_SENT],
    [upstash.createScript('return 1'), NOT_SENT],
    [nodeRedis.legacy(), LEGACY],
    [nodeRedis.legacy().multi(), NOT_SENT],
  ]
  expect(notRefusedInputs((client: RedisClient) => redisStore(client), rows)).toEqual([])
})

// On a Redis of its own: ioredis fails if the command of another client arrives right behind the answer to MONITOR.
onOwnRedis('a client that monitors', () => {
  test('is refused on ioredis', async () => {
    const server = await startRedis()
    onTestFinished(() => server.stop())
    const client = await (await connectIoredis(server.url)).monitor()
    onTestFinished(() => client.disconnect())
    expect(() => redisStore(client)).toThrow(SUBSCRIBED)
  })
})

onRedis('a client that subscribes', () => {
  /** Before the store is made, and after. */
  async function expectRefused(
    connect: () => Promise<RedisClient>,
    enter: (client: never) => Promise<unknown>,
  ) {
    const before = await connect()
    await enter(before as never)
    expect(() => redisStore(before)).toThrow(TypeError)
    expect(() => redisStore(before)).toThrow(SUBSCRIBED)

    const after = await connect()
    const store = redisStore(after)
    await enter(after as never)
    await expect(store.claim(claimOf('k', 'a'))).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringMatching(/^This Redis client subscribes or monitors: /),
    })
  }

  test('is refused on ioredis with RESP 2', () =>
    expectRefused(
      () => connectIoredis(redisUrl(), { protocol: 2 }),
      (client: Redis) => client.subscribe('news'),
    ))

  test('is refused on node-redis with RESP 2', () =>
    expectRefused(
      () => connectNodeRedis(redisUrl(), { RESP: 2 }),
      (client: NodeRedis) => client.subscribe('news', () => {}),
    ))

  test.each<[string, () => Promise<RedisClient>]>([
    [
      'ioredis',
      async () => {
        const client = await connectIoredis(redisUrl(), { protocol: 3 })
        await client.subscribe('news')
        return client
      },
    ],
    [
      'node-redis',
      async () => {
        const client = await connectNodeRedis(redisUrl(), { RESP: 3 })
        await client.subscribe('news', () => {})
        return client
      },
    ],
  ])('works on %s with RESP 3', async (_name, connect) => {
    const store = redisStore(await connect(), { prefix: redisPrefix('subscribed') })
    expect(await store.claim(claimOf(_name, 'a'))).toMatchObject({ status: 'claimed' })
  })
})

test('redisStore refuses invalid options', () => {
  const rows: [options: unknown, message: RegExp][] = [
    [{ prefx: 'a' }, /prefx/],
    [{ ttl: 60 }, /ttl/],
    [null, /options/],
    [{ prefix: 5 }, /^prefix must be/],
    [{ prefix: 'my app:' }, /^prefix must be/],
    [{ prefix: 'app\n' }, /^prefix must be/],
    [{ prefix: 'größe:' }, /^prefix must be/],
    [{ prefix: 'p'.repeat(201) }, /at most 200 characters/],
    [{ prefix: null }, /^prefix must be/],
    ...[-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, '1', null, true].map((replicas): [unknown, RegExp] => [
      { replicas },
      /^replicas must be a whole number of at least 0/,
    ]),
    ...[0, -1, 1.5, Number.NaN, '100', null].map((replicaTimeoutMs): [unknown, RegExp] => [
      { replicas: 1, replicaTimeoutMs },
      /^replicaTimeoutMs must be a whole number of at least 1/,
    ]),
  ]
  expect(notRefusedInputs((options: RedisStoreOptions) => redisStore(ioredis, options), rows)).toEqual([])
})

type NodeRedis = Awaited<ReturnType<typeof connectNodeRedis>>

let prefix: string
let tests = 0

beforeEach(() => {
  prefix = redisPrefix(`inputs-${++tests}`)
})

onRedis.each(LIBRARIES)('a store on $name', (library) => {
  test('refuses requests that the contract does not allow, and writes nothing', async () => {
    const store = await openStore(library, redisUrl(), { prefix })
    expect(await notRefusedRequests(store)).toEqual([])
    expect(await (await connectIoredis(redisUrl())).keys(`${prefix}*`)).toEqual([])
  })

  test.each([
    ['keys of 255 characters', 'k'.repeat(255), 'a'],
    ['tokens of 64 characters', 'k', 't'.repeat(64)],
    ['signs that mean something in Redis', '{a}*?[b]"\\ \' ~', '"{}\\ *'],
    ['words of numbers', '007', '1e3'],
  ])('takes %s', async (_name, key, token) => {
    const store: IdempotencyStore = await openStore(library, redisUrl(), { prefix })
    expect(await store.claim(claimOf(key, token))).toEqual({ status: 'claimed', attempt: 1 })
    expect(await store.renew({ key, token }, HOUR_MS)).toBe(true)
    expect(await store.complete({ key, token }, HOUR_MS)).toBe(true)
    const admin = await connectIoredis(redisUrl())
    onTestFinished(() => admin.disconnect())
    expect(await admin.get(prefix + key)).toBe(`completed 1 0 ${token}`)
  })
})
