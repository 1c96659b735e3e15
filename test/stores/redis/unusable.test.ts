import type { Redis } from 'ioredis'
import { createClient } from 'redis'
import { type RemoteStore, StoreError } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { redisStore } from 'tix-webhooks/redis'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { unavailable } from '../../../stores/redis/advice.js'
import { orderCreated, sign } from '../../support/deliveries.js'
import { answerOf, requestOf } from '../../support/fetching.js'
import { onOwnRedis } from '../../support/on-servers.js'
import { never, turns } from '../../support/promises.js'
import {
  CALLS,
  callsOf,
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
import { type RedisServer, startRedis } from '../../support/redis-server.js'
import { SOON_HEADER } from '../../support/retry-after.js'
import { watched } from '../../support/watched.js'

const CLOSED = /^The Redis client is closed: connect it before the app listens, and drain the receiver before/
const REFUSED = /^Redis refuses this client's user: it needs EVALSHA, EVAL, GET.*keys of the prefix\./
const FULL = /out of memory \(maxmemory\).*give it more, or free some.*Nothing is lost/
const FOREIGN = /^A key of the prefix holds something other .*prefix of its own/
const NEEDED = ['evalsha', 'eval', 'get', 'set', 'del', 'pttl']

onOwnRedis('a Redis store', () => {
  let server: RedisServer
  let admin: Redis
  const warn = vi.spyOn(console, 'warn')

  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(async () => {
    warn.mockRestore()
    await server.stop()
  })
  beforeEach(async () => {
    admin = await connectIoredis(server.url)
    await admin.config('SET', 'maxmemory', '0', 'maxmemory-policy', 'noeviction')
    await admin.flushall()
    await admin.config('RESETSTAT')
    warn.mockReset().mockImplementation(() => {})
  })

  /** The URL of a user with these rights. */
  async function userWith(...rules: string[]): Promise<string> {
    await admin.call('ACL', 'SETUSER', 'app', 'reset', 'on', '>hunter2', ...rules)
    return server.url.replace('//', '//app:hunter2@')
  }

  /** Its message shows nothing of the connection, and its cause is what the client or the server said. */
  async function expectError(call: Promise<unknown>, message: RegExp, code = 'store_unavailable') {
    const error = await call.then(
      () => expect.fail('It resolved.'),
      (reason: unknown) => reason,
    )
    expect(error).toBeInstanceOf(StoreError)
    expect(error).toMatchObject({ code, message: expect.stringMatching(message), cause: expect.any(Error) })
    expect((error as Error).message).not.toMatch(/redis:\/\/|127\.0\.0\.1|localhost|hunter2/)
  }

  const eachOf = (store: RemoteStore) => [
    ...METHODS.map(
      ({ call }) =>
        () =>
          call(store, 'k', 'a'),
    ),
    () => store.isHandled('k'),
  ]

  /** Every method and the check say it, and a receiver answers 503. */
  async function expectUnavailable(store: RemoteStore, message: RegExp): Promise<void> {
    for (const call of [...eachOf(store), () => store.check()]) await expectError(call(), message)
    const { options, runs, reports } = watched({ store, namespace: 'shop' })
    const hooks = tixWebhooks(options)
    const answer = await answerOf(await hooks(requestOf(await sign(orderCreated()))))
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': SOON_HEADER } })
    expect([runs, reports.length]).toEqual([[], 1])
    await hooks.drain()
  }

  test.each<[string, () => Promise<RedisClient>]>([
    [
      'ioredis after quit',
      async () => {
        const client = await connectIoredis(server.url)
        await client.quit()
        return client
      },
    ],
    [
      'ioredis after disconnect',
      async () => {
        const client = await connectIoredis(server.url)
        client.disconnect()
        return client
      },
    ],
    [
      'node-redis after destroy',
      async () => {
        const client = await connectNodeRedis(server.url)
        client.destroy()
        return client
      },
    ],
    ['node-redis before connect', async () => createClient({ url: server.url })],
  ])('says that its client is closed: %s', async (_, make) => {
    await expectUnavailable(redisStore(await make()), CLOSED)
  })

  test('says that its client has no password, or a wrong one', async () => {
    await admin.config('SET', 'requirepass', 'secret')
    onTestFinished(async () => void (await admin.config('SET', 'requirepass', '')))
    const client = lazyIoredis(server.url)
    await expectUnavailable(redisStore(client), REFUSED)
    const wrong = client.duplicate({ password: 'hunter2', lazyConnect: true, maxRetriesPerRequest: 0 })
    wrong.on('error', () => {})
    onTestFinished(() => wrong.disconnect())
    await expectError(redisStore(wrong).check(), REFUSED)
  })

  test('says that the server is gone, and is used again once it is back', async () => {
    const store = redisStore(await connectIoredis(server.url, { maxRetriesPerRequest: 0 }))
    await store.check()
    await server.kill()
    await expectUnavailable(store, /^Redis could not be reached/)
    await server.restart()
    await expect.poll(() => store.check().then(() => 'resolves', String)).toBe('resolves')
  })

  describe.each(LIBRARIES)('on $name', (library) => {
    const open = () => openStore(library, server.url)

    test('works and passes the check with the rights that it names and no others; the check writes nothing', async () => {
      const rights = ['~tix-webhooks:*', '+info', ...NEEDED.map((command) => `+${command}`)]
      const store = await openStore(library, await userWith(...rights))
      const changes = async () =>
        (await admin.info()).match(/^(rdb_changes_since_last_save|expired_keys):\d+/gm)
      const before = await changes()
      await store.check()
      await store.check()
      expect(await changes()).toEqual(before)
      expect(await admin.dbsize()).toBe(0)
      for (const { name, call, answer } of METHODS) {
        if (name !== 'claim') await store.claim(claimOf(name, 'a'))
        expect(await call(store, name, 'a')).toEqual(answer)
      }
    })

    test.each(NEEDED)('fails the check of a user who may not use %s', async (denied) => {
      await admin.script('FLUSH')
      const store = await openStore(library, await userWith('~tix-webhooks:*', '+@all', `-${denied}`))
      await expectError(store.check(), REFUSED)
    })

    test('says that the user may not use the keys of the prefix', async () => {
      await expectUnavailable(await openStore(library, await userWith('~other:*', '+@all')), REFUSED)
    })

    test('knows what a user may read', async () => {
      await (await open()).complete({ key: 'k', token: 'a' }, 60_000)
      const reader = await openStore(library, await userWith('~tix-webhooks:*', '+evalsha', '+eval', '+get'))
      expect(await reader.isHandled('k')).toBe(true)
      await expectError(reader.check(), REFUSED)
    })

    test('says that the server is a replica, and still reads', async () => {
      const store = await open()
      // It says so before it finds that there is no such primary.
      await admin.replicaof('127.0.0.1', 1)
      onTestFinished(async () => void (await admin.replicaof('NO', 'ONE')))
      const message = /^This Redis is a read-only replica: connect the client to the primary/
      await expectError(store.claim(claimOf('k', 'a')), message)
      await expectError(store.check(), message)
      expect(await store.isHandled('k')).toBe(false)
    })

    test.each([
      ['a list', () => admin.rpush('tix-webhooks:k', 'not ours')],
      ['a string', () => admin.set('tix-webhooks:k', 'not ours')],
      ['an empty string', () => admin.set('tix-webhooks:k', '')],
    ])('leaves alone a key of the prefix that holds something else: %s', async (_what, write) => {
      await write()
      const before = await admin.dumpBuffer('tix-webhooks:k')
      const store = await open()
      for (const call of eachOf(store)) await expectError(call(), FOREIGN)
      expect(await admin.dumpBuffer('tix-webhooks:k')).toEqual(before)
      await store.check()
    })

    test.each(['has the scripts', 'has lost the scripts'])(
      'without free memory takes no new event, and ends those that run, on a server that %s',
      async (has) => {
        const store = await open()
        const started = ['done', 'released', 'renewed']
        for (const key of started)
          await store.claim(claimOf(key, 'a', { leaseMs: key === 'renewed' ? 1 : HOUR_MS }))
        if (has === 'has lost the scripts') await admin.script('FLUSH')
        // No server is as small as that.
        await admin.config('SET', 'maxmemory', '1')
        await expectError(store.claim(claimOf('k', 'a')), FULL, 'store_full')
        await expectError(store.check(), FULL, 'store_full')
        for (const _ of ['once', 'again']) {
          expect(await store.complete({ key: 'done', token: 'a' }, HOUR_MS)).toBe(true)
          expect(await store.release({ key: 'released', token: 'a' })).toBe(true)
          expect(await store.renew({ key: 'renewed', token: 'a' }, HOUR_MS)).toBe(true)
        }
        expect(await store.renew({ key: 'renewed', token: 'b' }, HOUR_MS)).toBe(false)
        expect(await store.claim(claimOf('done', 'b'))).toEqual({ status: 'completed' })
        await admin.config('SET', 'maxmemory', '0')
        expect(await admin.dbsize()).toBe(3)
        expect(await store.claim(claimOf('released', 'b'))).toEqual({ status: 'claimed', attempt: 2 })
        expect(await store.claim(claimOf('renewed', 'b'))).toMatchObject({ status: 'in_flight' })
      },
    )

    test('warns once for each client of a server that evicts, whichever store or method comes first', async () => {
      await admin.config('SET', 'maxmemory-policy', 'allkeys-lru')
      const client = await library.connect(server.url)
      const before = await callsOf(admin, 'info')
      const stores = [redisStore(client), redisStore(client)]
      await turns(3)
      expect(warn).not.toHaveBeenCalled()
      for (const store of stores) {
        await store.release({ key: 'k', token: 'a' })
        await Promise.all([store.claim(claimOf('k', 'a')), store.claim(claimOf('j', 'a'))])
        await store.complete({ key: 'k', token: 'a' }, HOUR_MS)
      }
      await expect.poll(() => warn).toHaveBeenCalled()
      // The reading of the statistics counts as well.
      expect((await callsOf(admin, 'info')) - before - 1).toBe(1)
      expect(warn.mock.calls).toEqual([
        [
          expect.stringMatching(
            /maxmemory-policy allkeys-lru\. .*forgets events .*run again .*which then run twice at the same time\. Set it to noeviction/,
          ),
        ],
      ])
    })

    test.each(['noeviction', 'allkeys-lru'])(
      'warns of no policy that evicts nothing, or that it may not read: %s',
      async (policy) => {
        await admin.config('SET', 'maxmemory-policy', policy)
        const url = policy === 'noeviction' ? server.url : await userWith('~*', '+@all', '-info')
        const store = await openStore(library, url)
        // ioredis says by itself that it could not ask.
        warn.mockClear()
        expect(await store.claim(claimOf('k', 'a'))).toEqual({ status: 'claimed', attempt: 1 })
        await turns(5)
        expect(warn).not.toHaveBeenCalled()
      },
    )

    test('gives each of many first calls its own answer, though the server lacks the scripts', async () => {
      await admin.script('FLUSH')
      const store = await open()
      const claims = Array.from({ length: 30 }, (_, i) => store.claim(claimOf('k', `token ${i}`)))
      const answers = (await Promise.all(claims)).map(({ status }) => status)
      expect(answers.sort()).toEqual(['claimed', ...Array(29).fill('in_flight')])
    })
  })

  test.each(CALLS)(
    'on $with: $name sends its script once if the server lacks it',
    async ({ library, method }) => {
      const store = await openStore(library, server.url)
      for (const key of ['k1', 'k2']) {
        if (method.name !== 'claim') await store.claim(claimOf(key, 'a'))
      }
      await admin.script('FLUSH')
      const before = await callsOf(admin, 'eval')
      for (const key of ['k1', 'k2']) {
        expect(await method.call(store, key, 'a')).toEqual(method.answer)
        expect(await callsOf(admin, 'eval')).toBe(before + 1)
      }
    },
  )

  test('does not wait to learn the policy', async () => {
    const slow = Object.assign(await connectIoredis(server.url), { info: () => never() })
    expect(await redisStore(slow).claim(claimOf('k', 'a'))).toEqual({ status: 'claimed', attempt: 1 })
  })

  test('refuses a client of ioredis that monitors', async () => {
    const client = await (await connectIoredis(server.url)).monitor()
    onTestFinished(() => client.disconnect())
    expect(() => redisStore(client)).toThrow(/^client must not be one that subscribes or monitors: /)
  })
})

// Redis 5 and 6 put their own words before those of the error that a script met.
test.each([
  ["OOM command not allowed when used memory > 'maxmemory'.", 'store_full', FULL],
  ["READONLY You can't write against a read only replica.", 'store_unavailable', /read-only replica/],
  ['WRONGTYPE Operation against a key holding the wrong kind of value', 'store_unavailable', FOREIGN],
])('what an older Redis says of a script is understood as well: %s', (text, code, message) => {
  const words = 'ERR Error running script (call to f_81491dabb41f): @user_script:11: @user_script: 11: -'
  expect(unavailable(new Error(words + text), {})).toMatchObject({
    code,
    message: expect.stringMatching(message),
  })
})

test('a certificate that the client does not trust is named, also behind the error of fetch', () => {
  const refused = Object.assign(new Error('self-signed certificate'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
  for (const error of [refused, new TypeError('fetch failed', { cause: refused })]) {
    expect(unavailable(error, {}).message).toMatch(/^The certificate of Redis could not be verified/)
  }
})
