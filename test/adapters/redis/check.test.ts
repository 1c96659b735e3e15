import type { Redis } from 'ioredis'
import { type RemoteStore, StoreError } from 'tix-webhooks'
import { redisStore } from 'tix-webhooks/redis'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { onOwnRedis } from '../../support/on-servers.js'
import { claimOf, connectIoredis, LIBRARIES, lazyIoredis, openStore } from '../../support/redis-clients.js'
import { type RedisServer, startRedis } from '../../support/redis-server.js'

const REFUSED = /^Redis refuses this client's user: it needs EVALSHA, EVAL, GET.*keys of the prefix/
const NEEDED = ['evalsha', 'eval', 'get', 'set', 'del', 'pttl']

/** Expects an error with this advice; its message shows nothing of the connection. */
async function expectRefused(store: RemoteStore, message: RegExp, code = 'store_unavailable'): Promise<void> {
  const error = await store.check().then(
    () => expect.fail('It resolved.'),
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(StoreError)
  expect(error).toMatchObject({ code, message: expect.stringMatching(message) })
  expect((error as StoreError).message).not.toMatch(/redis:\/\/|127\.0\.0\.1|localhost|hunter2/)
}

onOwnRedis.each(LIBRARIES)('the check of a Redis store on $name', (library) => {
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

  async function openAs(...rules: string[]): Promise<RemoteStore> {
    await admin.call('ACL', 'SETUSER', 'app', 'reset', 'on', '>hunter2', ...rules)
    return openStore(library, server.url.replace('//', '//app:hunter2@'))
  }

  test('resolves for a user with the rights that deliveries need and no others, and writes nothing', async () => {
    const store = await openAs('~tix-webhooks:*', '+info', ...NEEDED.map((command) => `+${command}`))
    await admin.config('RESETSTAT')
    await store.check()
    await store.check()
    expect(await admin.dbsize()).toBe(0)
    expect(await admin.info('stats')).toMatch(/^expired_keys:0\r?$/m)
    expect(await admin.info('persistence')).toMatch(/^rdb_changes_since_last_save:0\r?$/m)
  })

  test.each(NEEDED)('rejects if the user may not use %s', async (denied) => {
    await admin.script('FLUSH')
    await expectRefused(await openAs('~tix-webhooks:*', '+@all', `-${denied}`), REFUSED)
  })

  test('rejects if the user may not use the keys of the prefix', async () => {
    await expectRefused(await openAs('~other:*', '+@all'), REFUSED)
  })

  test('rejects if the server is full', async () => {
    const store = await openStore(library, server.url)
    await store.check()
    await admin.config('SET', 'maxmemory', '1')
    onTestFinished(async () => void (await admin.config('SET', 'maxmemory', '0')))
    await expectRefused(store, /^Redis is out of memory/, 'store_full')
  })

  test('rejects on a replica, although it answers what only reads', async () => {
    const store = await openStore(library, server.url)
    await store.check()
    // It says so before it finds that there is no such primary.
    await admin.replicaof('127.0.0.1', 1)
    onTestFinished(async () => void (await admin.replicaof('NO', 'ONE')))
    await expectRefused(store, /^This Redis is a read-only replica: connect the client to the primary/)
    expect(await store.isHandled('k')).toBe(false)
  })

  test('rejects if there are fewer replicas than the store needs', async () => {
    const store = await openStore(library, server.url, { replicas: 1, replicaTimeoutMs: 10 })
    await expectRefused(store, /^Fewer than 1 replicas had the write after 10 ms/)
    await store.isHandled('k')
  })

  test('rejects if the server is gone or the client is closed, and resolves once it is back', async () => {
    const mortal = await startRedis()
    onTestFinished(() => mortal.stop())
    const client = await connectIoredis(mortal.url, { maxRetriesPerRequest: 0 })
    const store = redisStore(client)
    await store.check()
    await mortal.kill()
    await expectRefused(store, /^Redis could not be reached/)
    await expect(store.isHandled('k')).rejects.toThrow(/^Redis could not be reached/)
    await mortal.restart()
    await expect.poll(() => store.check().then(() => 'resolves', String)).toBe('resolves')
    client.disconnect()
    await expectRefused(store, /^The Redis client is closed/)
  })

  describe('and isHandled', () => {
    test('rejects for a key of the prefix that holds something else', async () => {
      await admin.set('tix-webhooks:k', 'not ours')
      const store = await openStore(library, server.url)
      await expect(store.isHandled('k')).rejects.toMatchObject({
        code: 'store_unavailable',
        message: expect.stringMatching(/^A key of the prefix holds something other/),
      })
      await store.check()
    })

    test('knows what a user may read', async () => {
      const writer = await openStore(library, server.url)
      await writer.claim(claimOf('k', 'a'))
      await writer.complete({ key: 'k', token: 'a' }, 60_000)
      const reader = await openAs('~tix-webhooks:*', '+info', '+evalsha', '+eval', '+get')
      expect(await reader.isHandled('k')).toBe(true)
      await expectRefused(reader, REFUSED)
    })
  })
})

onOwnRedis('the check of a Redis store', () => {
  test('rejects without the password of the server, and does not show a wrong one', async () => {
    const server = await startRedis({ args: ['--requirepass', 'secret'] })
    onTestFinished(() => server.stop())
    const client = lazyIoredis(server.url)
    await expectRefused(redisStore(client), REFUSED)
    const wrong = client.duplicate({ password: 'hunter2', lazyConnect: true, maxRetriesPerRequest: 0 })
    wrong.on('error', () => {})
    onTestFinished(() => wrong.disconnect())
    await expectRefused(redisStore(wrong), REFUSED)
  })
})
