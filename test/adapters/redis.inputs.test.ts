import { Redis } from 'ioredis'
import { Pool } from 'pg'
import type { IdempotencyStore } from 'tix-webhooks'
import { type RedisStoreOptions, redisStore } from 'tix-webhooks/redis'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { onRedis, redisPrefix, redisUrl } from '../support/on-servers.js'
import {
  claimOf,
  connectIoredis,
  HOUR_MS,
  LIBRARIES,
  openStore,
  type RedisClient,
} from '../support/redis-clients.js'

describe('redisStore refuses as a client', () => {
  test.each([
    ['undefined', undefined],
    ['null', null],
    ['a URL', 'redis://localhost'],
    ['a number', 6379],
    ['a plain object', {}],
    ['a pool of pg', new Pool({ max: 0 })],
    ['a memory store', { claim: async () => ({}) }],
    ['the class itself', Redis],
    ['options', { url: 'redis://localhost', eval: true, evalsha: true }],
    ['a client with eval alone', { eval: async () => 1 }],
  ])('%s, and names the two that it takes', (_name, client) => {
    const make = () => redisStore(client as unknown as RedisClient)
    expect(make).toThrow(TypeError)
    expect(make).toThrow(/ioredis \(new Redis\(url\)\) or of node-redis \(await createClient/)
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
