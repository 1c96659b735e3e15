import type { Redis } from 'ioredis'
import { createClient } from 'redis'
import { type RemoteStore, StoreError } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { redisStore } from 'tix-webhooks/redis'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { atOnce } from '../../support/at-once.js'
import { orderCreated, sign } from '../../support/deliveries.js'
import { answerOf, requestOf } from '../../support/fetching.js'
import { onOwnRedis } from '../../support/on-servers.js'
import {
  claimOf,
  connectIoredis,
  connectNodeRedis,
  LIBRARIES,
  METHODS,
  openStore,
  type RedisClient,
} from '../../support/redis-clients.js'
import { type RedisServer, startRedis } from '../../support/redis-server.js'
import { SOON_HEADER } from '../../support/retry-after.js'
import { watched } from '../../support/watched.js'

const CLOSED = /^The Redis client is closed: connect it before the app listens, and drain the receiver before/

onOwnRedis('what a Redis store cannot work with', () => {
  let server: RedisServer
  let admin: Redis

  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(() => server.stop())

  beforeEach(async () => {
    admin = await connectIoredis(server.url)
    await admin.flushall()
  })

  /** Every method says it, with what the client or the server said as the cause; and a receiver answers 503. */
  async function expectUnavailable(store: RemoteStore, message: RegExp): Promise<void> {
    for (const { call } of METHODS) {
      const error = await call(store, 'k', 'a').catch((cause: unknown) => cause)
      expect(error).toBeInstanceOf(StoreError)
      expect(error).toMatchObject({
        code: 'store_unavailable',
        message: expect.stringMatching(message),
        cause: expect.any(Error),
      })
    }
    await expectAnswer503(store)
  }

  async function expectAnswer503(store: RemoteStore): Promise<void> {
    const { options, runs, reports } = watched({ store, namespace: 'shop' })
    const hooks = tixWebhooks(options)
    const answer = await answerOf(await hooks(requestOf(await sign(orderCreated()))))
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': SOON_HEADER } })
    expect(runs).toEqual([])
    expect(reports).toHaveLength(1)
    await hooks.drain()
  }

  const CLOSED_CLIENTS: readonly { name: string; make(): Promise<RedisClient> }[] = [
    {
      name: 'an ioredis client after quit',
      async make() {
        const client = await connectIoredis(server.url)
        await client.quit()
        return client
      },
    },
    {
      name: 'an ioredis client after disconnect',
      async make() {
        const client = await connectIoredis(server.url)
        client.disconnect()
        return client
      },
    },
    {
      name: 'a node-redis client after close',
      async make() {
        const client = await connectNodeRedis(server.url)
        await client.close()
        return client
      },
    },
    {
      name: 'a node-redis client after destroy',
      async make() {
        const client = await connectNodeRedis(server.url)
        client.destroy()
        return client
      },
    },
    {
      name: 'a node-redis client that was never connected',
      make: async () => createClient({ url: server.url }),
    },
  ]

  test('a client that is closed, or was never connected', () =>
    atOnce(CLOSED_CLIENTS, async ({ make }) => expectUnavailable(redisStore(await make()), CLOSED)))

  test('a user who may not use the keys of the prefix, on each library', async () => {
    await setUser('stranger', '~other:*', '+@all')
    const message = /^Redis refuses this client's user: it needs EVALSHA, EVAL, GET.*keys of the prefix/
    await atOnce(LIBRARIES, async (library) => {
      const store = await openStore(library, urlOf('stranger'))
      await expectUnavailable(store, message)
      await expectAnswer503(store)
    })
  })

  describe.each(LIBRARIES)('on $name', (library) => {
    test.each([
      ['a list', () => admin.rpush('tix-webhooks:k', 'not ours')],
      ['a string', () => admin.set('tix-webhooks:k', 'not ours')],
      ['an empty string', () => admin.set('tix-webhooks:k', '')],
    ])('a key of the prefix that holds something else: %s', async (_what, write) => {
      await write()
      const before = await admin.dumpBuffer('tix-webhooks:k')
      const store = await openStore(library, server.url)
      const message = /^A key of the prefix holds something other .*prefix of its own/
      for (const { call } of METHODS) {
        await expect(call(store, 'k', 'a')).rejects.toMatchObject({
          code: 'store_unavailable',
          message: expect.stringMatching(message),
        })
      }
      expect(await admin.dumpBuffer('tix-webhooks:k')).toEqual(before)
    })

    test('a server that answers with an error of another kind, such as that of a script that never ends', async () => {
      const store = await openStore(library, server.url)
      await store.claim(claimOf('k', 'a'))
      const busy = await connectIoredis(server.url)
      await admin.config('SET', 'busy-reply-threshold', '1')
      const endless = busy.eval('while true do end', 0).catch(() => {})
      // It is refused as soon as the script counts as slow.
      await vi.waitFor(() => expect(admin.ping()).rejects.toThrow(/^BUSY /))
      await expect(store.claim(claimOf('other', 'a'))).rejects.toMatchObject({
        code: 'store_unavailable',
        message: expect.stringMatching(/^Redis answered with an error: BUSY .*the sender retries/),
      })
      await admin.script('KILL')
      await endless
      await admin.config('SET', 'busy-reply-threshold', '5000')
    })

    test('a user who may not wait for replicas', async () => {
      await setUser('hasty', '~tix-webhooks:*', '+@all', '-wait')
      const store = await openStore(library, urlOf('hasty'), { replicas: 1, replicaTimeoutMs: 10 })
      await expect(store.claim(claimOf('k', 'a'))).rejects.toMatchObject({
        code: 'store_unavailable',
        message: expect.stringMatching(/^Redis refuses this client's user: it needs .*WAIT/),
      })
    })

    test('and what it can: a user who may do what the message lists, and nothing else', async () => {
      const needed = ['evalsha', 'eval', 'get', 'set', 'del', 'pttl']
      await setUser('app', '~tix-webhooks:*', ...needed.map((command) => `+${command}`))
      const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
      onTestFinished(() => warn.mockRestore())
      const store = await openStore(library, urlOf('app'))
      for (const { name, call, answer } of METHODS) {
        if (name !== 'claim') await store.claim(claimOf(name, 'a'))
        expect(await call(store, name, 'a')).toEqual(answer)
      }
    })
  })

  async function setUser(name: string, ...rules: string[]): Promise<void> {
    await admin.call('ACL', 'SETUSER', name, 'reset', 'on', '>pw', ...rules)
  }

  function urlOf(user: string): string {
    return server.url.replace('//', `//${user}:pw@`)
  }
})
