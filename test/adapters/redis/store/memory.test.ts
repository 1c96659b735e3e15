import type { Redis } from 'ioredis'
import { StoreError } from 'tix-webhooks'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { unavailable } from '../../../../adapters/redis/advice.js'
import { onOwnRedis } from '../../../support/on-servers.js'
import { claimOf, connectIoredis, HOUR_MS, LIBRARIES, openStore } from '../../../support/redis-clients.js'
import { type RedisServer, startRedis } from '../../../support/redis-server.js'

onOwnRedis.each(LIBRARIES)('a Redis without free memory, on $name', (library) => {
  let server: RedisServer
  let admin: Redis

  beforeAll(async () => {
    server = await startRedis({ args: ['--maxmemory-policy', 'noeviction'] })
  })
  afterAll(() => server.stop())

  beforeEach(async () => {
    admin = await connectIoredis(server.url)
    await freeMemory()
    await admin.flushall()
  })

  /** No server is as small as that. */
  const fillMemory = () => admin.config('SET', 'maxmemory', '1')
  const freeMemory = () => admin.config('SET', 'maxmemory', '0')

  test('refuses a new event as store_full, and writes nothing', async () => {
    const store = await openStore(library, server.url)
    await fillMemory()
    const error = await store.claim(claimOf('k', 'a')).catch((cause: unknown) => cause)
    expect(error).toBeInstanceOf(StoreError)
    expect(error).toMatchObject({
      code: 'store_full',
      message: expect.stringMatching(
        /out of memory \(maxmemory\).*give it more, or free some.*Nothing is lost/,
      ),
      cause: expect.objectContaining({ message: expect.stringMatching(/^OOM /) }),
    })
    expect(await admin.dbsize()).toBe(0)
  })

  test('lets a running event be completed, also a second time', async () => {
    const store = await openStore(library, server.url)
    await store.claim(claimOf('k', 'a'))
    await fillMemory()
    expect(await store.complete({ key: 'k', token: 'a' }, HOUR_MS)).toBe(true)
    expect(await store.complete({ key: 'k', token: 'a' }, HOUR_MS)).toBe(true)
    expect(await store.claim(claimOf('k', 'b'))).toEqual({ status: 'completed' })
  })

  test('lets a running event be released, also a second time', async () => {
    const store = await openStore(library, server.url)
    await store.claim(claimOf('k', 'a'))
    await fillMemory()
    expect(await store.release({ key: 'k', token: 'a' })).toBe(true)
    expect(await store.release({ key: 'k', token: 'a' })).toBe(true)
    await freeMemory()
    expect(await store.claim(claimOf('k', 'b'))).toEqual({ status: 'claimed', attempt: 2 })
  })

  test('lets a running event be renewed, so that nobody takes it when there is memory again', async () => {
    const store = await openStore(library, server.url)
    await store.claim(claimOf('k', 'a', { leaseMs: 1 }))
    await fillMemory()
    expect(await store.renew({ key: 'k', token: 'a' }, HOUR_MS)).toBe(true)
    expect(await store.renew({ key: 'k', token: 'b' }, HOUR_MS)).toBe(false)
    await freeMemory()
    expect(await store.claim(claimOf('k', 'b'))).toMatchObject({ status: 'in_flight' })
    expect(await admin.get('tix-webhooks:k')).toMatch(/^running 1 \d+ a$/)
  })

  test('lets them be completed and released though it has lost the scripts', async () => {
    const store = await openStore(library, server.url)
    await store.claim(claimOf('k', 'a'))
    await store.claim(claimOf('j', 'a'))
    await admin.script('FLUSH')
    await fillMemory()
    expect(await store.complete({ key: 'k', token: 'a' }, HOUR_MS)).toBe(true)
    expect(await store.release({ key: 'j', token: 'a' })).toBe(true)
  })
})

// Redis 5 and 6 put their own words before those of the error that a script met.
test.each([
  ["OOM command not allowed when used memory > 'maxmemory'.", 'store_full', /out of memory/],
  ["READONLY You can't write against a read only replica.", 'store_unavailable', /read-only replica/],
  [
    'WRONGTYPE Operation against a key holding the wrong kind of value',
    'store_unavailable',
    /a prefix of its own/,
  ],
])('what an older Redis says of a script is understood as well: %s', (text, code, message) => {
  const words = 'ERR Error running script (call to f_81491dabb41f): @user_script:11: @user_script: 11: -'
  expect(unavailable(new Error(words + text), {})).toMatchObject({
    code,
    message: expect.stringMatching(message),
  })
})
