import type { Redis } from 'ioredis'
import { createClient } from 'redis'
import { redisStore } from 'tix-webhooks/redis'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { onOwnRedis } from '../../support/on-servers.js'
import { claimOf, connectIoredis, connectNodeRedis, LIBRARIES } from '../../support/redis-clients.js'
import { type RedisServer, startRedis } from '../../support/redis-server.js'
import { startProxy, type TcpProxy } from '../../support/tcp-proxy.js'

onOwnRedis('a connection of an app that its store shares', () => {
  let server: RedisServer
  let proxy: TcpProxy
  let admin: Redis
  beforeAll(async () => {
    server = await startRedis()
    proxy = await startProxy({ port: server.port })
  })
  afterAll(async () => {
    await proxy?.close()
    await server?.stop()
  })

  async function open(name: string) {
    admin = await connectIoredis(server.url)
    const url = `redis://127.0.0.1:${proxy.port}`
    if (name === 'ioredis') return connectIoredis(url)
    return connectNodeRedis(url)
  }

  test.each(LIBRARIES)(
    'is closed once for all calls that a replica refuses, and no command on it is lost silently: $name',
    async ({ name }) => {
      const client = await open(name)
      const store = redisStore(client)
      await store.claim(claimOf('a', 't'))
      await admin.replicaof('127.0.0.1', '1')
      const before = proxy.connections
      const refused = Promise.allSettled(['b', 'c', 'd'].map((key) => store.claim(claimOf(key, 't'))))
      const own = Promise.allSettled(
        ['b', 'c', 'd'].flatMap((key) => [client.set(key, 'x'), client.get(key)]),
      )
      expect((await refused).map(({ status }) => status)).toEqual(Array(3).fill('rejected'))
      await admin.replicaof('NO', 'ONE')
      // Each has settled: with what the replica said, or as for a lost connection.
      await own
      expect(await store.claim(claimOf('e', 't'))).toMatchObject({ status: 'claimed' })
      expect(proxy.connections).toBe(before + 1)
    },
  )

  const STOP = new Error('stop')
  test.each([
    { name: 'ioredis', strategy: null, opened: 0 },
    { name: 'ioredis', strategy: () => null, opened: 0 },
    { name: 'ioredis', strategy: (times: number): number | null => (times === 1 ? 20 : null), opened: 1 },
    { name: 'node-redis', strategy: false, opened: 0 },
    { name: 'node-redis', strategy: (): false => false, opened: 0 },
    { name: 'node-redis', strategy: () => STOP, opened: 0 },
    {
      name: 'node-redis',
      strategy: (retries: number): number | false => (retries === 0 ? 20 : false),
      opened: 1,
    },
    { name: 'node-redis', strategy: undefined, opened: 1 },
  ] as const)(
    'is closed only if its client would open another: $name, $strategy',
    async ({ name, strategy, opened }) => {
      admin = await connectIoredis(server.url)
      const client = await openWith(name, strategy)
      const store = redisStore(client)
      await store.claim(claimOf('f', 't'))
      const before = proxy.connections
      await admin.replicaof('127.0.0.1', '1')
      await expect(store.claim(claimOf('g', 't'))).rejects.toThrow('returns a number; restart it otherwise')
      await admin.replicaof('NO', 'ONE')
      expect(await store.claim(claimOf('h', 't'))).toMatchObject({ status: 'claimed' })
      expect(proxy.connections).toBe(before + opened)
    },
  )

  /** A client with that strategy, as it is. */
  async function openWith(name: string, strategy: unknown) {
    const url = `redis://127.0.0.1:${proxy.port}`
    if (name === 'ioredis') return connectIoredis(url, { retryStrategy: strategy as () => null })
    const client = createClient({ url, socket: { reconnectStrategy: strategy as false } })
    client.on('error', () => {})
    onTestFinished(() => client.destroy())
    return client.connect()
  }

  test.each(LIBRARIES)(
    'is closed once a second while the server stays read-only: $name',
    async ({ name }) => {
      vi.useFakeTimers({ toFake: ['performance'] })
      onTestFinished(() => void vi.useRealTimers())
      const client = await open(name)
      onTestFinished(async () => void (await admin.replicaof('NO', 'ONE')))
      const store = redisStore(client)
      await store.claim(claimOf('i', 't'))
      const before = proxy.connections
      await admin.replicaof('127.0.0.1', '1')
      for (const [ms, opened] of [
        [0, 1],
        [999, 1],
        [1, 2],
      ] as const) {
        vi.advanceTimersByTime(ms)
        // The second is refused on the new connection, if the first closed the old one.
        for (const key of ['j', 'k'])
          await expect(store.claim(claimOf(key, 't'))).rejects.toThrow('read-only')
        expect(proxy.connections).toBe(before + opened)
      }
    },
  )

  test('is closed by one command of node-redis, though calls are refused one after the other', async () => {
    const closing: (() => void)[] = []
    const client = {
      isReady: true,
      connect() {},
      evalSha: async () => Promise.reject(new Error('READONLY a replica')),
      eval: async () => {},
      once: (_: string, listener: () => void) => closing.push(listener),
      sendCommand: vi.fn(async () => {}),
    }
    const store = redisStore(client)
    const calls = Promise.allSettled([store.claim(claimOf('a', 't')), store.claim(claimOf('b', 't'))])
    await expect.poll(() => closing).not.toEqual([])
    closing[0]?.()
    await calls
    expect(client.sendCommand.mock.calls).toEqual([[['QUIT']]])
  })

  test.each(LIBRARIES)(
    'is warned of once if it is silent without a limit for that: $name',
    async ({ name }) => {
      const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
      vi.useFakeTimers({ toFake: ['performance'] })
      onTestFinished(async () => {
        vi.useRealTimers()
        warn.mockRestore()
        await proxy.pass()
      })
      const client = await open(name)
      const store = redisStore(client)
      await store.claim(claimOf('silent', 't'))
      const warnings = () => warn.mock.calls.flat().filter((text) => String(text).includes('socketTimeout'))
      proxy.blackHole()
      const calls: Promise<unknown>[] = []
      for (const [key, ms, warned] of [
        ['first', 0, 0],
        ['in time', 2_000, 0],
        ['too late', 1, 1],
        ['even later', 1, 1],
      ] as const) {
        vi.advanceTimersByTime(ms)
        const sent = proxy.nextRequest((chunk) => chunk.includes(key))
        calls.push(store.claim(claimOf(key, 't')).catch(() => {}))
        await sent
        expect(warnings()).toHaveLength(warned)
      }
      expect(warnings()[0]).toContain(name === 'ioredis' ? 'set socketTimeout: 5_000' : 'createClientPool')
      await proxy.pass()
      await Promise.allSettled(calls)
    },
  )
})
