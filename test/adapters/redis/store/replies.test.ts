import { createClientPool, RESP_TYPES } from 'redis'
import { redisStore } from 'tix-webhooks/redis'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { onRedis, redisPrefix, redisUrl } from '../../../support/on-servers.js'
import {
  claimOf,
  connectIoredis,
  connectNodeRedis,
  HOUR_MS,
  lazyIoredis,
  METHODS,
  type RedisClient,
} from '../../../support/redis-clients.js'

let prefix: string
let tests = 0

beforeEach(() => {
  prefix = redisPrefix(`replies-${++tests}`)
})

const CLIENTS: [string, () => Promise<RedisClient>][] = [
  ['ioredis', () => connectIoredis(redisUrl())],
  ['ioredis with numbers as strings', () => connectIoredis(redisUrl(), { stringNumbers: true })],
  ['ioredis that gathers its commands', () => connectIoredis(redisUrl(), { enableAutoPipelining: true })],
  [
    'ioredis without a queue for when it is offline',
    () => connectIoredis(redisUrl(), { enableOfflineQueue: false }),
  ],
  ['ioredis that connects at its first command', async () => lazyIoredis(redisUrl())],
  ['ioredis with RESP 2', () => connectIoredis(redisUrl(), { protocol: 2 })],
  ['ioredis with RESP 3', () => connectIoredis(redisUrl(), { protocol: 3 })],
  ['node-redis with RESP 2', () => connectNodeRedis(redisUrl(), { RESP: 2 })],
  ['node-redis with RESP 3', () => connectNodeRedis(redisUrl(), { RESP: 3 })],
  [
    'node-redis with strings as buffers',
    async () =>
      (await connectNodeRedis(redisUrl())).withTypeMapping({
        [RESP_TYPES.BLOB_STRING]: Buffer,
        [RESP_TYPES.SIMPLE_STRING]: Buffer,
      }),
  ],
  [
    'node-redis with numbers as strings',
    async () => (await connectNodeRedis(redisUrl())).withTypeMapping({ [RESP_TYPES.NUMBER]: String }),
  ],
  ['a pool of node-redis', () => pool()],
]

async function pool(): Promise<RedisClient> {
  const clients = createClientPool({ url: redisUrl() }, { minimum: 2, maximum: 4 })
  onTestFinished(() => clients.destroy())
  await clients.connect()
  return clients
}

onRedis('a Redis store', () => {
  describe.each(CLIENTS)('on %s', (_name, connect) => {
    test('understands every reply', async () => {
      const store = redisStore(await connect(), { prefix })
      const lease = { key: 'k', token: 'a' }
      expect(await store.claim(claimOf('k', 'a'))).toStrictEqual({ status: 'claimed', attempt: 1 })
      expect(await store.claim(claimOf('k', 'a'))).toStrictEqual({ status: 'claimed', attempt: 1 })
      expect(await store.claim(claimOf('k', 'b'))).toStrictEqual({
        status: 'in_flight',
        retryAfterMs: expect.any(Number),
      })
      expect(await store.renew(lease, HOUR_MS)).toBe(true)
      expect(await store.renew({ key: 'k', token: 'b' }, HOUR_MS)).toBe(false)
      expect(await store.release(lease)).toBe(true)
      expect(await store.claim(claimOf('k', 'a'))).toStrictEqual({ status: 'in_flight', retryAfterMs: 1 })
      expect(await store.complete(lease, HOUR_MS)).toBe(false)
      expect(await store.claim(claimOf('k', 'b'))).toStrictEqual({ status: 'claimed', attempt: 2 })
      expect(await store.complete({ key: 'k', token: 'b' }, HOUR_MS)).toBe(true)
      expect(await store.release({ key: 'k', token: 'b' })).toBe(false)
      expect(await store.claim(claimOf('k', 'c'))).toStrictEqual({ status: 'completed' })
    })
  })

  test.each<[string, unknown]>([
    ['null', null],
    ['an object', { status: 'claimed' }],
    ['an empty list', []],
    ['another word', 'OK'],
    ['a list of words', ['OK', 1]],
    ['no whole number', 1.5],
    ['an empty string', ''],
  ])('says that a client transforms replies, which then are %s', async (_name, reply) => {
    const answer = async () => reply
    const store = redisStore({ eval: answer, evalsha: answer })
    for (const { call } of METHODS) {
      await expect(call(store, 'k', 'a')).rejects.toMatchObject({
        code: 'store_misbehaved',
        message: expect.stringMatching(/^Redis answered a \w+ with .*does the client transform replies/),
      })
    }
  })

  test('says so of a client in the midst of a transaction', async () => {
    const client = await connectIoredis(redisUrl())
    await client.multi({ pipeline: false })
    await expect(redisStore(client, { prefix }).complete({ key: 'k', token: 'a' }, HOUR_MS)).rejects.toThrow(
      /^Redis answered a completion with a string: .*is it in a transaction/,
    )
  })
})
