import type { RedisConfigNodejs, Redis as Upstash } from '@upstash/redis'
import type { Redis } from 'ioredis'
import type { RemoteStore } from 'tix-webhooks'
import { redisStore } from 'tix-webhooks/redis'
import { storeCases } from 'tix-webhooks/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { onOwnRedis } from '../../support/on-servers.js'
import { claimOf, connectIoredis, HOUR_MS } from '../../support/redis-clients.js'
import { type RedisServer, startRedis } from '../../support/redis-server.js'
import { SHIFT_REDIS } from '../../support/shift-deadlines.js'
import { startUpstash, type UpstashServer } from '../../support/upstash.js'

const SETTINGS: Partial<RedisConfigNodejs>[] = [
  { enableAutoPipelining: true, automaticDeserialization: true },
  { enableAutoPipelining: true, automaticDeserialization: false },
  { enableAutoPipelining: false, automaticDeserialization: true },
  { enableAutoPipelining: false, automaticDeserialization: false },
  { enableAutoPipelining: true, responseEncoding: false },
]

let redis: RedisServer
let server: UpstashServer
let admin: Redis
let prefix: string
let tests = 0

onOwnRedis('a Redis store on the client of @upstash/redis', () => {
  beforeAll(async () => {
    redis = await startRedis()
    server = await startUpstash(redis.url)
  })
  afterAll(async () => {
    await server.close()
    await redis.stop()
  })
  beforeEach(async () => {
    prefix = `upstash-${++tests}:`
    admin = await connectIoredis(redis.url)
  })

  describe.each(SETTINGS)('with %o', (settings) => {
    const open = async (): Promise<RemoteStore> => redisStore(server.client(settings), { prefix })

    test('works on a server that has lost the scripts, one call at a time or many', async () => {
      const store = await open()
      await admin.script('FLUSH')
      const keys = ['j', 'k', 'l']
      const claims = await Promise.all(keys.map((key) => store.claim(claimOf(key, 'a'))))
      expect(claims).toStrictEqual(Array(3).fill({ status: 'claimed', attempt: 1 }))
      await admin.script('FLUSH')
      expect(await store.complete({ key: 'k', token: 'a' }, HOUR_MS)).toBe(true)
      expect(await admin.get(`${prefix}k`)).toBe('completed 1 0 a')
      await admin.script('FLUSH')
      expect(await Promise.all(keys.map((key) => store.isHandled(key)))).toStrictEqual([false, true, false])
      await store.check()
    })

    // The client puts the command into its errors, and this key has the words of another fault.
    const key = 'READONLY k'

    test('names a fault by the words of the server alone', async () => {
      await admin.set(prefix + key, 'not ours')
      await expectUnavailable(server.client(settings), /^A key of the prefix holds something other/)
      const denied = server.client({ ...settings, token: 'another' })
      await expectUnavailable(denied, /^Redis refuses this client's user/)
      server.isExhausted = true
      onTestFinished(() => {
        server.isExhausted = false
      })
      await expectUnavailable(server.client(settings), /^Redis answered with an error: ERR max .*limit/)
    })

    async function expectUnavailable(client: Upstash, message: RegExp): Promise<void> {
      const store = redisStore(client, { prefix })
      for (const call of [() => store.claim(claimOf(key, 'a')), () => store.isHandled(key)]) {
        await expect(call()).rejects.toMatchObject({
          code: 'store_unavailable',
          message: expect.stringMatching(message),
        })
      }
    }
  })

  // The two that differ most in how calls are sent and replies are read.
  test.each([SETTINGS[0], SETTINGS[3]])('passes every case that a store must with %o', async (settings) => {
    const create = async () => redisStore(server.client(settings), { prefix })
    const backend = {
      create,
      createSecond: create,
      advance: async (ms: number) => void (await admin.eval(SHIFT_REDIS, 0, prefix, ms)),
    }
    // The long histories send calls and read replies like all others, so once is enough.
    const cases = settings === SETTINGS[0] ? storeCases : storeCases.filter(({ id }) => id !== 'histories')
    for (const { id, name, run } of cases) {
      await run(backend).catch((error: unknown) => {
        throw new Error(`${id}: it ${name}`, { cause: error })
      })
    }
  })

  test('gathers calls in one request, or sends each by itself, as the client is set', async () => {
    for (const [enableAutoPipelining, paths] of [
      [true, ['/pipeline']],
      [false, ['/', '/']],
    ] as const) {
      const store = redisStore(server.client({ enableAutoPipelining }), { prefix })
      await store.claim(claimOf('warm', 'a'))
      const before = server.paths.length
      await Promise.all(['a', 'b'].map((token) => store.claim(claimOf('k', token))))
      expect(server.paths.slice(before)).toEqual(paths)
    }
  })
})
