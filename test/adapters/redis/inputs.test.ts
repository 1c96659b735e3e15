import { Redis as Upstash } from '@upstash/redis'
import * as ioredisModule from 'ioredis'
import { Cluster, Redis } from 'ioredis'
import { Pool } from 'pg'
import { createClient, createClientPool, createCluster } from 'redis'
import { type IdempotencyStore, memoryStore } from 'tix-webhooks'
import { type RedisStoreOptions, redisStore } from 'tix-webhooks/redis'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { onRedis, redisPrefix, redisUrl } from '../../support/on-servers.js'
import {
  claimOf,
  connectIoredis,
  connectNodeRedis,
  HOUR_MS,
  LIBRARIES,
  openStore,
  type RedisClient,
} from '../../support/redis-clients.js'

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

test.each<[string, unknown, RegExp]>([
  ['undefined', undefined, NO_CLIENT],
  ['null', null, NO_CLIENT],
  ['a URL', 'redis://localhost', NO_CLIENT],
  ['a number', 6379, NO_CLIENT],
  ['a plain object', {}, NO_CLIENT],
  ['a pool of pg', new Pool({ max: 0 }), NO_CLIENT],
  ['a memory store', memoryStore(), NO_CLIENT],
  ['the class itself', Redis, NO_CLIENT],
  ['the module of ioredis', ioredisModule, NO_CLIENT],
  ['options', { url: 'redis://localhost', eval: true, evalsha: true }, NO_CLIENT],
  ['a client with eval alone', { eval: async () => 1 }, NO_CLIENT],
  ['a client that nobody awaited', Promise.resolve(nodeRedis), /not a promise without/],
  ['a pipeline of ioredis', ioredis.pipeline(), NOT_SENT],
  ['a transaction of ioredis', ioredis.multi(), NOT_SENT],
  ['a pipeline of a cluster of ioredis', cluster.pipeline(), NOT_SENT],
  ['a transaction of node-redis', nodeRedis.multi(), NOT_SENT],
  ['a transaction of a cluster of node-redis', nodeCluster.multi(), NOT_SENT],
  ['a transaction of a pool of node-redis', createClientPool().multi(), NOT_SENT],
  ['a pipeline of @upstash/redis', upstash.pipeline(), NOT_SENT],
  ['a transaction of @upstash/redis', oneByOne.multi(), NOT_SENT],
  ['a script of @upstash/redis', upstash.createScript('return 1'), NOT_SENT],
  ['a legacy client of node-redis', nodeRedis.legacy(), LEGACY],
  ['a transaction of a legacy client', nodeRedis.legacy().multi(), NOT_SENT],
])('redisStore refuses %s as a client, and says what it takes', (_name, client, message) => {
  const make = () => redisStore(client as RedisClient)
  expect(make).toThrow(TypeError)
  expect(make).toThrow(message)
})

test.each<[string, RedisClient]>([
  ['a client of ioredis', ioredis],
  ['a cluster of ioredis', cluster],
  ['a client of node-redis', nodeRedis],
  ['a cluster of node-redis', nodeCluster],
  ['a pool of node-redis', createClientPool()],
  ['a client of @upstash/redis', upstash],
  ['one that sends each command by itself', oneByOne],
])('redisStore takes %s', (_name, client) => {
  expect(() => redisStore(client)).not.toThrow()
})

onRedis('a client that subscribes or monitors', () => {
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

  test('is refused on ioredis when it monitors', async () => {
    const client = await (await connectIoredis(redisUrl())).monitor()
    onTestFinished(() => client.disconnect())
    expect(() => redisStore(client)).toThrow(SUBSCRIBED)
  })

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

describe('redisStore refuses the options', () => {
  test.each<[string, unknown, RegExp]>([
    ['an unknown one', { prefx: 'a' }, /prefx/],
    ['a TTL, as other libraries have it', { ttl: 60 }, /ttl/],
    ['null', null, /options/],
    ['a prefix that is not a string', { prefix: 5 }, /^prefix must be/],
    ['a prefix with a blank', { prefix: 'my app:' }, /^prefix must be/],
    ['a prefix with a line break', { prefix: 'app\n' }, /^prefix must be/],
    ['a prefix that is not ASCII', { prefix: 'größe:' }, /^prefix must be/],
    ['a prefix of 201 characters', { prefix: 'p'.repeat(201) }, /at most 200 characters/],
    ['no prefix', { prefix: null }, /^prefix must be/],
    ...[-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, '1', null, true].map(
      (replicas): [string, unknown, RegExp] => [
        `replicas: ${String(replicas)}`,
        { replicas },
        /^replicas must be a whole number of at least 0/,
      ],
    ),
    ...[0, -1, 1.5, Number.NaN, '100', null].map((replicaTimeoutMs): [string, unknown, RegExp] => [
      `replicaTimeoutMs: ${String(replicaTimeoutMs)}`,
      { replicas: 1, replicaTimeoutMs },
      /^replicaTimeoutMs must be a whole number of at least 1/,
    ]),
  ])('%s', (_name, options, message) => {
    const client = new Redis({ lazyConnect: true })
    const make = () => redisStore(client, options as RedisStoreOptions)
    expect(make).toThrow(TypeError)
    expect(make).toThrow(message)
  })

  test.each<[string, RedisStoreOptions]>([
    ['none', {}],
    ['an empty prefix', { prefix: '' }],
    ['a prefix of 200 characters', { prefix: 'p'.repeat(200) }],
    ['a prefix with a hash tag', { prefix: '{tix}:' }],
    ['no replicas', { replicas: 0, replicaTimeoutMs: 1 }],
    ['several replicas', { replicas: 2, replicaTimeoutMs: 500 }],
  ])('and takes %s', (_name, options) => {
    expect(() => redisStore(new Redis({ lazyConnect: true }), options)).not.toThrow()
  })
})

type NodeRedis = Awaited<ReturnType<typeof connectNodeRedis>>

let prefix: string
let tests = 0

beforeEach(() => {
  prefix = redisPrefix(`inputs-${++tests}`)
})

onRedis.each(LIBRARIES)('a store on $name refuses', (library) => {
  /** Every method of it with the same bad lease. */
  async function expectRefused(lease: { key: unknown; token: unknown }, message: RegExp): Promise<void> {
    const store = await openStore(library, redisUrl(), { prefix })
    const bad = lease as { key: string; token: string }
    const calls: (() => Promise<unknown>)[] = [
      () => store.claim(claimOf(bad.key, bad.token)),
      () => store.renew(bad, HOUR_MS),
      () => store.complete(bad, HOUR_MS),
      () => store.release(bad),
    ]
    for (const call of calls) await expectRefusal(call, message)
    await expectNothingWritten()
  }

  /** As a rejection: nothing is thrown at who forgot to await. */
  async function expectRefusal(call: () => Promise<unknown>, message: RegExp): Promise<void> {
    const error = await call().catch((cause: unknown) => cause)
    expect(error).toBeInstanceOf(TypeError)
    expect((error as Error).message).toMatch(message)
  }

  async function expectNothingWritten(): Promise<void> {
    expect(await (await connectIoredis(redisUrl())).keys(`${prefix}*`)).toEqual([])
  }

  test.each<[string, unknown, RegExp]>([
    ['that is empty', '', /^key must be 1 to 255 characters/],
    ['of 256 characters', 'k'.repeat(256), /^key must be 1 to 255 .* has 256: use a hash/],
    ['of 10 KB', 'k'.repeat(10_240), /^key must be 1 to 255 .* has 10240: use a hash/],
    ['with NUL', 'a\0b', /^key must be printable ASCII/],
    ['with a line break', 'a\r\nb', /^key must be printable ASCII/],
    ['that is not ASCII', 'bestellung/größe', /^key must be printable ASCII/],
    ['that is not a string', 42, /^key must be a string/],
    ['that is missing', undefined, /^key must be a string/],
  ])('a key %s', (_name, key, message) => expectRefused({ key, token: 'a' }, message))

  test.each<[string, unknown, RegExp]>([
    ['that is empty', '', /^token must be 1 to 64 characters/],
    ['of 65 characters', 't'.repeat(65), /^token must be 1 to 64 .* has 65/],
    ['with NUL', 'a\0', /^token must be printable ASCII/],
    ['that is missing', undefined, /^token must be a string/],
  ])('a token %s', (_name, token, message) => expectRefused({ key: 'k', token }, message))

  test.each([
    0,
    -1,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    1e20,
    '60000' as unknown as number,
    undefined as unknown as number,
  ])('a time of %s', async (ms) => {
    const store = await openStore(library, redisUrl(), { prefix })
    const lease = { key: 'k', token: 'a' }
    const calls: [() => Promise<unknown>, RegExp][] = [
      [() => store.claim(claimOf('k', 'a', { leaseMs: ms })), /^leaseMs must be/],
      [() => store.claim(claimOf('k', 'a', { retainMs: ms })), /^retainMs must be/],
      [() => store.renew(lease, ms), /^leaseMs must be/],
      [() => store.complete(lease, ms), /^retainMs must be/],
    ]
    for (const [call, message] of calls) await expectRefusal(call, message)
    await expectNothingWritten()
  })

  test.each([
    ['a key of 255 characters', 'k'.repeat(255), 'a'],
    ['a token of 64 characters', 'k', 't'.repeat(64)],
    ['signs that mean something in Redis', '{a}*?[b]"\\ \' ~', '"{}\\ *'],
    ['words of numbers', '007', '1e3'],
  ])('no %s', async (_name, key, token) => {
    const store: IdempotencyStore = await openStore(library, redisUrl(), { prefix })
    expect(await store.claim(claimOf(key, token))).toEqual({ status: 'claimed', attempt: 1 })
    expect(await store.renew({ key, token }, HOUR_MS)).toBe(true)
    expect(await store.complete({ key, token }, HOUR_MS)).toBe(true)
    const admin = await connectIoredis(redisUrl())
    onTestFinished(() => admin.disconnect())
    expect(await admin.get(prefix + key)).toBe(`completed 1 0 ${token}`)
  })
})
