import type { Redis } from 'ioredis'
import { redisStore } from 'tix-webhooks/redis'
import { afterAll, afterEach, beforeAll, beforeEach, expect, type MockInstance, test, vi } from 'vitest'
import { onOwnRedis } from '../../support/on-servers.js'
import { never, turns } from '../../support/promises.js'
import {
  callsOf,
  claimOf,
  connectIoredis,
  HOUR_MS,
  LIBRARIES,
  nodeRedisLibrary,
  openStore,
} from '../../support/redis-clients.js'
import { type RedisServer, startRedis } from '../../support/redis-server.js'

onOwnRedis('a Redis that evicts', () => {
  let server: RedisServer
  let admin: Redis
  let warn: MockInstance<typeof console.warn>

  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(() => server.stop())

  beforeEach(async () => {
    admin = await connectIoredis(server.url)
    await admin.flushall()
    warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  })
  afterEach(async () => {
    warn.mockRestore()
  })

  test.each(['allkeys-lru', 'volatile-ttl'])('is warned of at the first use: %s', async (policy) => {
    await admin.config('SET', 'maxmemory-policy', policy)
    const store = await openStore(nodeRedisLibrary, server.url)
    expect(warn).not.toHaveBeenCalled()
    await store.claim(claimOf('k', 'a'))
    await vi.waitFor(() => expect(warn).toHaveBeenCalledOnce(), 10_000)
    expect(warn.mock.calls[0]?.[0]).toMatch(
      new RegExp(
        `maxmemory-policy ${policy}\\. .*forgets events .*run again .*that are running, which then run twice at the same time\\. Set it to noeviction`,
      ),
    )
  })

  test.each(LIBRARIES)(
    'is warned of once for each client of $name, whichever store or method comes first',
    async (library) => {
      await admin.config('SET', 'maxmemory-policy', 'allkeys-lru')
      await admin.config('RESETSTAT')
      const client = await library.connect(server.url)
      const connecting = await callsOf(admin, 'info')
      const stores = [redisStore(client), redisStore(client)]
      await turns(3)
      for (const store of stores) {
        await store.release({ key: 'k', token: 'a' })
        await Promise.all([store.claim(claimOf('k', 'a')), store.claim(claimOf('j', 'a'))])
        await store.complete({ key: 'k', token: 'a' }, HOUR_MS)
      }
      await vi.waitFor(() => expect(warn).toHaveBeenCalledOnce(), 10_000)
      // The reading of the statistics counts as well.
      expect((await callsOf(admin, 'info')) - connecting - 1).toBe(1)
      expect(warn).toHaveBeenCalledOnce()
    },
  )

  test.each(LIBRARIES)('is not warned of on $name where nothing is evicted', async (library) => {
    await admin.config('SET', 'maxmemory-policy', 'noeviction')
    const store = await openStore(library, server.url)
    await store.claim(claimOf('k', 'a'))
    await turns(5)
    expect(warn).not.toHaveBeenCalled()
  })

  test.each(LIBRARIES)(
    'is not warned of on $name where INFO is forbidden, and nothing fails',
    async (library) => {
      await admin.config('SET', 'maxmemory-policy', 'allkeys-lru')
      await admin.call('ACL', 'SETUSER', 'quiet', 'on', '>pw', '~*', '+@all', '-info')
      const store = await openStore(library, server.url.replace('//', '//quiet:pw@'))
      // ioredis says by itself that it could not ask.
      warn.mockClear()
      expect(await store.claim(claimOf('k', 'a'))).toEqual({ status: 'claimed', attempt: 1 })
      await turns(5)
      expect(warn).not.toHaveBeenCalled()
    },
  )

  test('is not waited for to tell its policy', async () => {
    const slow = Object.assign(await connectIoredis(server.url), { info: () => never() })
    expect(await redisStore(slow).claim(claimOf('k', 'a'))).toEqual({ status: 'claimed', attempt: 1 })
  })
})
