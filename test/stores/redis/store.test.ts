import type { Redis } from 'ioredis'
import { createClientPool, RESP_TYPES } from 'redis'
import { redisStore } from 'tix-webhooks/redis'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { onRedis, redisPrefix, redisUrl } from '../../support/on-servers.js'
import { turns } from '../../support/promises.js'
import {
  CALLS,
  claimOf,
  connectIoredis,
  connectNodeRedis,
  HOUR_MS,
  LIBRARIES,
  lazyIoredis,
  METHODS,
  openStore,
  type RedisClient,
} from '../../support/redis-clients.js'
import { startProxy, type TcpProxy } from '../../support/tcp-proxy.js'

let admin: Redis
let prefix: string
let tests = 0

const recordOf = (key: string) => admin.get(`${prefix}${key}`)

/** A key is gone when what it holds in whole hours is 0. */
async function hoursLeft(key: string): Promise<number> {
  return Math.ceil((await admin.pttl(`${prefix}${key}`)) / HOUR_MS)
}

async function connectPool(): Promise<RedisClient> {
  const clients = createClientPool({ url: redisUrl() }, { minimum: 2, maximum: 4 })
  onTestFinished(() => clients.destroy())
  await clients.connect()
  return clients
}

const CLIENTS: [string, () => Promise<RedisClient>][] = [
  ['ioredis with numbers as strings', () => connectIoredis(redisUrl(), { stringNumbers: true })],
  ['ioredis that gathers its commands', () => connectIoredis(redisUrl(), { enableAutoPipelining: true })],
  ['ioredis without a queue', () => connectIoredis(redisUrl(), { enableOfflineQueue: false })],
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
  ['a pool of node-redis', connectPool],
]

onRedis('a Redis store', () => {
  beforeEach(async () => {
    admin = await connectIoredis(redisUrl())
    prefix = redisPrefix(`store-${++tests}`)
  })

  // Versions of one major version share the records: docs/stability.md.
  test.each(LIBRARIES)(
    'on $name keeps the state, the attempt, what the lease leaves of the retention, and the token',
    async (library) => {
      const store = await openStore(library, redisUrl(), { prefix })
      const lease = { key: 'k', token: 'a' }
      await store.claim(claimOf('k', 'a', { leaseMs: HOUR_MS, retainMs: 5 * HOUR_MS }))
      expect([await recordOf('k'), await hoursLeft('k')]).toEqual([`running 1 ${4 * HOUR_MS} a`, 5])
      await admin.pexpire(`${prefix}k`, 9 * HOUR_MS)
      expect(await store.renew(lease, 2 * HOUR_MS)).toBe(true)
      const [state, attempt, rest, token] = String(await recordOf('k')).split(' ')
      expect([state, attempt, Math.ceil(Number(rest) / HOUR_MS), token]).toEqual(['running', '1', 7, 'a'])
      expect(await hoursLeft('k')).toBe(9)
      expect(await store.release(lease)).toBe(true)
      expect([await recordOf('k'), await hoursLeft('k')]).toEqual(['released 1 0 a', 9])
      expect(await store.claim(claimOf('k', 'b'))).toEqual({ status: 'claimed', attempt: 2 })
      for (const hours of [7, 3]) {
        expect(await store.complete({ key: 'k', token: 'b' }, hours * HOUR_MS)).toBe(true)
        expect([await recordOf('k'), await hoursLeft('k')]).toEqual(['completed 2 0 b', hours])
      }
    },
  )

  test.each(LIBRARIES)(
    'on $name keeps times in whole milliseconds, however long they are',
    async (library) => {
      const store = await openStore(library, redisUrl(), { prefix })
      const retainMs = Number.MAX_SAFE_INTEGER
      await store.claim(claimOf('long', 'a', { leaseMs: 1, retainMs }))
      expect(await recordOf('long')).toBe(`running 1 ${retainMs - 1} a`)
      await store.renew({ key: 'long', token: 'a' }, HOUR_MS)
      expect(await recordOf('long')).toMatch(/^running 1 \d{16} a$/)
      // Rounded up.
      await store.claim(claimOf('k', 'a', { leaseMs: HOUR_MS + 0.25, retainMs: 2 * HOUR_MS + 0.25 }))
      expect(await recordOf('k')).toBe(`running 1 ${HOUR_MS} a`)
      expect(await store.renew({ key: 'k', token: 'a' }, 0.001)).toBe(true)
      expect(await recordOf('k')).toMatch(/^running 1 7\d{6} a$/)
      expect(await store.complete({ key: 'k', token: 'a' }, 3 * HOUR_MS + 0.25)).toBe(true)
      expect(await hoursLeft('k')).toBeGreaterThanOrEqual(3)
    },
  )

  test('puts its prefix, by default tix-webhooks:, and the keyPrefix of ioredis before each key', async () => {
    const key = `${prefix}default`
    await redisStore(admin).claim(claimOf(key, 'a', { retainMs: 10 * 60_000 }))
    expect(await admin.del(`tix-webhooks:${key}`)).toBe(1)
    await redisStore(admin, { prefix: '' }).claim(claimOf(`${prefix}bare`, 'a'))
    expect(await admin.exists(`${prefix}bare`)).toBe(1)
    const client = await connectIoredis(redisUrl(), { keyPrefix: prefix })
    const store = redisStore(client, { prefix: 'own:' })
    expect(await store.claim(claimOf('k', 'a'))).toEqual({ status: 'claimed', attempt: 1 })
    expect(await store.release({ key: 'k', token: 'a' })).toBe(true)
    expect(await recordOf('own:k')).toBe('released 1 0 a')
  })

  test.each(CLIENTS)('understands every reply of %s', async (_name, connect) => {
    const store = redisStore(await connect(), { prefix })
    const lease = { key: 'k', token: 'a' }
    expect(await store.claim(claimOf('k', 'a'))).toStrictEqual({ status: 'claimed', attempt: 1 })
    expect(await store.claim(claimOf('k', 'b'))).toStrictEqual({
      status: 'in_flight',
      retryAfterMs: expect.any(Number),
    })
    expect(await store.renew(lease, HOUR_MS)).toBe(true)
    expect(await store.renew({ key: 'k', token: 'b' }, HOUR_MS)).toBe(false)
    expect(await store.release(lease)).toBe(true)
    expect(await store.claim(claimOf('k', 'a'))).toStrictEqual({ status: 'in_flight', retryAfterMs: 1 })
    expect(await store.complete({ key: 'k', token: 'b' }, HOUR_MS)).toBe(false)
    expect(await store.claim(claimOf('k', 'b'))).toStrictEqual({ status: 'claimed', attempt: 2 })
    expect(await store.complete({ key: 'k', token: 'b' }, HOUR_MS)).toBe(true)
    expect(await store.claim(claimOf('k', 'c'))).toStrictEqual({ status: 'completed' })
  })

  test.each([null, { status: 'claimed' }, [], 'OK', ['OK', 1], 1.5, ''])(
    'says that a client transforms replies, which then are %j',
    async (reply) => {
      const answer = async () => reply
      const store = redisStore({ eval: answer, evalsha: answer })
      for (const { call } of METHODS) {
        await expect(call(store, 'k', 'a')).rejects.toMatchObject({
          code: 'store_misbehaved',
          message: expect.stringMatching(/^Redis answered a \w+ with .*does the client transform replies/),
        })
      }
    },
  )

  test('says that a client is in the midst of a transaction', async () => {
    const client = await connectIoredis(redisUrl())
    await client.multi({ pipeline: false })
    await expect(redisStore(client, { prefix }).complete({ key: 'k', token: 'a' }, HOUR_MS)).rejects.toThrow(
      /^Redis answered a completion with a string: .*is it in a transaction/,
    )
  })

  async function proxied(): Promise<{ proxy: TcpProxy; url: string }> {
    const url = new URL(redisUrl())
    const proxy = await startProxy({ host: url.hostname, port: Number(url.port || 6379) })
    onTestFinished(() => proxy.close())
    url.host = `127.0.0.1:${proxy.port}`
    return { proxy, url: url.href }
  }

  test.each(LIBRARIES)(
    'on $name sends nothing when it is made, and calls that are made together share a round trip',
    async (library) => {
      const { proxy, url } = await proxied()
      const client = await library.connect(url)
      await turns(5)
      const sent = proxy.roundTrips
      const store = redisStore(client, { prefix })
      await turns(5)
      expect([proxy.roundTrips, proxy.connections]).toEqual([sent, 1])
      await store.claim(claimOf('warm', 'a'))
      const before = proxy.roundTrips
      await Promise.all(Array.from({ length: 20 }, (_, i) => store.claim(claimOf(`k${i}`, 'a'))))
      expect(proxy.roundTrips - before).toBeLessThan(20)
    },
  )

  test.each(CALLS)('on $with needs one round trip for $name', async ({ library, method }) => {
    const { proxy, url } = await proxied()
    const store = await openStore(library, url, { prefix })
    // The policy is read once, and the scripts are sent whole once.
    for (const { call } of METHODS) await call(store, 'warm', 'a')
    if (method.name !== 'claim') await store.claim(claimOf('k', 'a'))
    const before = proxy.roundTrips
    expect(await method.call(store, 'k', 'a')).toEqual(method.answer)
    expect(proxy.roundTrips - before).toBe(1)
  })
})
