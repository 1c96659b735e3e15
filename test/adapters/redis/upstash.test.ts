import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type RedisConfigNodejs, Redis as Upstash } from '@upstash/redis'
import { Redis } from 'ioredis'
import type { RemoteStore } from 'tix-webhooks'
import { redisStore } from 'tix-webhooks/redis'
import { storeCases } from 'tix-webhooks/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { onOwnRedis } from '../../support/on-servers.js'
import { claimOf, connectIoredis, HOUR_MS } from '../../support/redis-clients.js'
import { type RedisServer, startRedis } from '../../support/redis-server.js'
import { SHIFT_REDIS } from '../../support/stores/shift.js'

type Reply = { result: unknown } | { error: string }

/** Serves Upstash's REST protocol in front of a local Redis. */
interface UpstashServer {
  readonly url: string
  /** The requested paths, in order. */
  readonly paths: readonly string[]
  /** Whether the plan's request quota is used up: then each command is refused, as Upstash does. */
  isExhausted: boolean
  /** A client of it, with the settings under test. */
  client(settings?: Partial<RedisConfigNodejs>): Upstash
  close(): Promise<void>
}

const UPSTASH_TOKEN = 'a-token'

/** Starts it on a free loopback port. */
async function startUpstash(redisUrl: string): Promise<UpstashServer> {
  const redis = new Redis(redisUrl)
  const paths: string[] = []

  async function answer(request: IncomingMessage): Promise<readonly [status: number, body: unknown]> {
    paths.push(request.url ?? '')
    if (request.headers.authorization !== `Bearer ${UPSTASH_TOKEN}`) {
      return [401, { error: 'WRONGPASS invalid or missing auth token' }]
    }
    const body = JSON.parse(await text(request))
    const encode = request.headers['upstash-encoding'] === 'base64' ? inBase64 : (value: unknown) => value
    const run = async (command: unknown[]): Promise<Reply> => {
      const [name = '', ...args] = command.map(String)
      if (self.isExhausted) return { error: 'ERR max requests limit exceeded. Limit: 10000, Usage: 10000.' }
      return redis.call(name, ...args).then(
        (result) => ({ result: encode(result) }),
        (error: Error) => ({ error: error.message }),
      )
    }
    if (request.url === '/pipeline') return [200, await Promise.all((body as unknown[][]).map(run))]
    const reply = await run(body)
    return ['error' in reply ? 400 : 200, reply]
  }

  const server = createServer(async (request, response) => {
    const [status, body] = await answer(request).catch((error) => [400, { error: String(error) }] as const)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const self: UpstashServer = {
    url,
    paths,
    isExhausted: false,
    client: (settings) =>
      new Upstash({ url, token: UPSTASH_TOKEN, enableTelemetry: false, retry: false, ...settings }),
    async close() {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
      redis.disconnect()
    },
  }
  return self
}

/** Upstash encodes every string except OK. */
function inBase64(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inBase64)
  return typeof value === 'string' && value !== 'OK' ? Buffer.from(value).toString('base64') : value
}

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
  test.each([SETTINGS[0], SETTINGS[3]])(
    'passes every case that a store must with %o',
    async (settings) => {
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
    },
    60_000,
  )

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
