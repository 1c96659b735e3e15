import type { Redis } from 'ioredis'
import { redisStore } from 'tix-webhooks/redis'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { onRedis, redisPrefix, redisUrl } from '../support/on-servers.js'
import { claimOf, connectIoredis, HOUR_MS, LIBRARIES, openStore } from '../support/redis-clients.js'

let admin: Redis
let prefix: string
let tests = 0

beforeEach(async () => {
  admin = await connectIoredis(redisUrl())
  prefix = redisPrefix(`record-${++tests}`)
})

afterEach(() => {
  vi.useRealTimers()
})

/** A key is gone when what it holds in whole hours is 0. */
async function hoursLeft(key: string): Promise<number> {
  return Math.ceil((await admin.pttl(key)) / HOUR_MS)
}

onRedis.each(LIBRARIES)('a record of a store on $name', (library) => {
  const open = () => openStore(library, redisUrl(), { prefix })

  test('is a hash of token, attempt and the end of the lease while it runs, and is kept for its retention', async () => {
    const store = await open()
    const [seconds = '', micros = ''] = await admin.time().then((time) => time.map(String))
    const now = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000)
    await store.claim(claimOf('k', 'a', { leaseMs: HOUR_MS, retainMs: 5 * HOUR_MS }))
    const { until, ...rest } = await admin.hgetall(`${prefix}k`)
    expect(rest).toEqual({ token: 'a', attempt: '1' })
    expect(until).toMatch(/^\d{13}$/)
    expect(Number(until)).toBeGreaterThanOrEqual(now + HOUR_MS)
    expect(Number(until)).toBeLessThan(now + HOUR_MS + 10 * 60_000)
    expect(await hoursLeft(`${prefix}k`)).toBe(5)
  })

  test('keeps its token alone when it is completed, for the retention from then', async () => {
    const store = await open()
    await store.claim(claimOf('k', 'a'))
    expect(await store.complete({ key: 'k', token: 'a' }, 7 * HOUR_MS)).toBe(true)
    expect(await admin.hgetall(`${prefix}k`)).toEqual({ token: 'a' })
    expect(await hoursLeft(`${prefix}k`)).toBe(7)
    expect(await store.complete({ key: 'k', token: 'a' }, 3 * HOUR_MS)).toBe(true)
    expect(await hoursLeft(`${prefix}k`)).toBe(3)
  })

  test('keeps token and attempt when it is released, for as long as it would have been kept', async () => {
    const store = await open()
    await store.claim(claimOf('k', 'a'))
    await admin.pexpire(`${prefix}k`, 9 * HOUR_MS)
    expect(await store.release({ key: 'k', token: 'a' })).toBe(true)
    expect(await admin.hgetall(`${prefix}k`)).toEqual({ token: 'a', attempt: '1' })
    expect(await hoursLeft(`${prefix}k`)).toBe(9)
  })

  test('gets a new end of its lease, and nothing else, when it is renewed', async () => {
    const store = await open()
    await store.claim(claimOf('k', 'a'))
    const { until: before } = await admin.hgetall(`${prefix}k`)
    await admin.pexpire(`${prefix}k`, 9 * HOUR_MS)
    expect(await store.renew({ key: 'k', token: 'a' }, 2 * HOUR_MS)).toBe(true)
    const { until: after, ...rest } = await admin.hgetall(`${prefix}k`)
    expect(Number(after)).toBeGreaterThanOrEqual(Number(before) + HOUR_MS)
    expect(rest).toEqual({ token: 'a', attempt: '1' })
    expect(await hoursLeft(`${prefix}k`)).toBe(9)
  })

  test('is taken over whole: token, attempt, lease and retention', async () => {
    const store = await open()
    await store.claim(claimOf('k', 'a'))
    await store.release({ key: 'k', token: 'a' })
    expect(await store.claim(claimOf('k', 'b', { retainMs: 6 * HOUR_MS }))).toEqual({
      status: 'claimed',
      attempt: 2,
    })
    expect(await admin.hgetall(`${prefix}k`)).toMatchObject({
      token: 'b',
      attempt: '2',
      until: expect.stringMatching(/^\d+$/),
    })
    expect(await hoursLeft(`${prefix}k`)).toBe(6)
  })

  test.each([
    ['running', async () => {}],
    ['completed', async () => void (await admin.hdel(`${prefix}k`, 'attempt', 'until'))],
  ])('is left as it is by a claim of another token while it is %s', async (_state, prepare) => {
    const store = await open()
    await store.claim(claimOf('k', 'a'))
    await prepare()
    await admin.pexpire(`${prefix}k`, 9 * HOUR_MS)
    const before = await admin.hgetall(`${prefix}k`)
    expect((await store.claim(claimOf('k', 'b'))).status).not.toBe('claimed')
    expect(await admin.hgetall(`${prefix}k`)).toEqual(before)
    expect(await hoursLeft(`${prefix}k`)).toBe(9)
  })

  test('can be taken when its lease has run out by the clock of the server', async () => {
    const store = await open()
    await store.claim(claimOf('k', 'a', { leaseMs: 1 }))
    await expect
      .poll(() => store.claim(claimOf('k', 'b')), { timeout: 10_000 })
      .toEqual({ status: 'claimed', attempt: 2 })
  })

  test('expires by itself, and is then as if it had never been', async () => {
    const store = await open()
    await store.claim(claimOf('k', 'a', { leaseMs: 1, retainMs: 1 }))
    await expect.poll(() => admin.exists(`${prefix}k`), { timeout: 10_000 }).toBe(0)
    expect(await store.complete({ key: 'k', token: 'a' }, HOUR_MS)).toBe(false)
    expect(await store.claim(claimOf('k', 'b'))).toEqual({ status: 'claimed', attempt: 1 })
  })

  test.each(['1999-01-01', '2099-01-01'])('knows nothing of a clock of ours that says %s', async (date) => {
    const store = await open()
    await store.claim(claimOf('k', 'a'))
    const { until } = await admin.hgetall(`${prefix}k`)
    vi.useFakeTimers({ now: new Date(date), toFake: ['Date'] })
    expect(await store.claim(claimOf('k', 'b'))).toMatchObject({ status: 'in-flight' })
    await store.renew({ key: 'k', token: 'a' }, HOUR_MS)
    expect(Math.abs(Number(await admin.hget(`${prefix}k`, 'until')) - Number(until))).toBeLessThan(HOUR_MS)
    await store.complete({ key: 'k', token: 'a' }, 2 * HOUR_MS)
    expect(await hoursLeft(`${prefix}k`)).toBe(2)
  })

  test('has times in whole milliseconds, rounded up', async () => {
    const store = await open()
    await store.claim(claimOf('k', 'a', { leaseMs: HOUR_MS + 0.25, retainMs: 2 * HOUR_MS + 0.25 }))
    expect(await admin.hget(`${prefix}k`, 'until')).toMatch(/^\d{13}$/)
    expect(await store.renew({ key: 'k', token: 'a' }, 0.001)).toBe(true)
    expect(await admin.hget(`${prefix}k`, 'until')).toMatch(/^\d{13}$/)
    expect(await store.complete({ key: 'k', token: 'a' }, 3 * HOUR_MS + 0.25)).toBe(true)
    expect(await hoursLeft(`${prefix}k`)).toBeGreaterThanOrEqual(3)
  })
})

onRedis('the key of a record', () => {
  describe.each(LIBRARIES)('of a store on $name', (library) => {
    test('begins with tix-webhooks: by default', async () => {
      const key = `${prefix}default`
      const store = await openStore(library, redisUrl())
      await store.claim(claimOf(key, 'a', { retainMs: 10 * 60_000 }))
      expect(await admin.exists(`tix-webhooks:${key}`)).toBe(1)
      await admin.del(`tix-webhooks:${key}`)
    })

    test('is the bare key with an empty prefix', async () => {
      const store = await openStore(library, redisUrl(), { prefix: '' })
      await store.claim(claimOf(`${prefix}bare`, 'a'))
      expect(await admin.exists(`${prefix}bare`)).toBe(1)
    })

    test('keeps stores of different prefixes apart', async () => {
      const [one, two] = await Promise.all(
        ['one:', 'two:'].map((name) => openStore(library, redisUrl(), { prefix: prefix + name })),
      )
      expect(await one?.claim(claimOf('k', 'a'))).toEqual({ status: 'claimed', attempt: 1 })
      expect(await two?.claim(claimOf('k', 'b'))).toEqual({ status: 'claimed', attempt: 1 })
      expect((await admin.keys(`${prefix}*`)).sort()).toEqual([`${prefix}one:k`, `${prefix}two:k`])
    })
  })

  test('begins with the keyPrefix of an ioredis client, which sends scripts in the same way', async () => {
    const client = await connectIoredis(redisUrl(), { keyPrefix: prefix })
    const store = redisStore(client, { prefix: 'own:' })
    expect(await store.claim(claimOf('k', 'a'))).toEqual({ status: 'claimed', attempt: 1 })
    expect(await store.release({ key: 'k', token: 'a' })).toBe(true)
    expect(await admin.hgetall(`${prefix}own:k`)).toEqual({ token: 'a', attempt: '1' })
  })
})
