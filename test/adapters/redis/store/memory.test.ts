import type { Redis } from 'ioredis'
import { StoreError } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/fetch'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { unavailable } from '../../../../adapters/redis/advice.js'
import { orderCreated, sign } from '../../../support/deliveries.js'
import { answerOf, requestOf } from '../../../support/fetching.js'
import { onOwnRedis } from '../../../support/on-servers.js'
import { deferred } from '../../../support/promises.js'
import { claimOf, connectIoredis, HOUR_MS, LIBRARIES, openStore } from '../../../support/redis-clients.js'
import { type RedisServer, startRedis } from '../../../support/redis-server.js'
import { SOON_HEADER } from '../../../support/retry-after.js'
import { watched } from '../../../support/watched.js'

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

  test('records the completion of an event that it has lost', async () => {
    const store = await openStore(library, server.url)
    await fillMemory()
    expect(await store.complete({ key: 'k', token: 'a' }, HOUR_MS)).toBe(true)
    await freeMemory()
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

  test('returns that the event was handled to a repeated delivery', async () => {
    const store = await openStore(library, server.url)
    await store.claim(claimOf('k', 'a'))
    await store.complete({ key: 'k', token: 'a' }, HOUR_MS)
    await fillMemory()
    expect(await store.claim(claimOf('k', 'b'))).toEqual({ status: 'completed' })
  })

  test('returns that the event is in flight to a second delivery', async () => {
    const store = await openStore(library, server.url)
    await store.claim(claimOf('k', 'a'))
    await fillMemory()
    expect(await store.claim(claimOf('k', 'b'))).toMatchObject({ status: 'in_flight' })
  })

  test('makes the sender retry, and loses nothing: each event runs once', async () => {
    const entered = deferred()
    const leave = deferred()
    const ran: string[] = []
    const { options, reports } = watched({
      store: await openStore(library, server.url),
      namespace: 'shop',
      on: {
        'order.created': async (event) => {
          ran.push(event.data.order.id)
          if (ran.length > 1) return
          entered.resolve()
          await leave.promise
        },
      },
    })
    const hooks = tixWebhooks(options)
    const send = async (payload: object) => answerOf(await hooks(requestOf(await sign(payload))))

    const running = orderCreated({ id: 'ord_running' })
    const late = orderCreated({ id: 'ord_late' })
    const answer = send(running)
    await entered.promise
    await fillMemory()
    expect(await send(late)).toMatchObject({
      status: 503,
      headers: { 'retry-after': SOON_HEADER },
      text: '{"outcome":"unavailable"}',
    })
    expect(reports).toEqual([expect.stringMatching(/out of memory/)])
    leave.resolve()
    expect(await answer).toMatchObject({ status: 200, text: '{"outcome":"handled"}' })
    expect(await send(running)).toMatchObject({ status: 200, text: '{"outcome":"duplicate"}' })

    await freeMemory()
    expect(await send(late)).toMatchObject({ status: 200, text: '{"outcome":"handled"}' })
    expect(await send(late)).toMatchObject({ status: 200, text: '{"outcome":"duplicate"}' })
    expect(ran).toEqual(['ord_running', 'ord_late'])
    await hooks.drain()
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
