import type { Redis } from 'ioredis'
import { redisStore } from 'tix-webhooks/redis'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { onRedis, redisPrefix, redisUrl } from '../../../support/on-servers.js'
import { claimOf, connectIoredis, HOUR_MS, LIBRARIES, openStore } from '../../../support/redis-clients.js'

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

  test('is its state, its attempt, what its lease leaves of its retention and its token, and is kept for its retention', async () => {
    const store = await open()
    await store.claim(claimOf('k', 'a', { leaseMs: HOUR_MS, retainMs: 5 * HOUR_MS }))
    expect(await admin.get(`${prefix}k`)).toBe(`running 1 ${4 * HOUR_MS} a`)
    expect(await hoursLeft(`${prefix}k`)).toBe(5)
  })

  test('is completed for the retention from then', async () => {
    const store = await open()
    await store.claim(claimOf('k', 'a'))
    expect(await store.complete({ key: 'k', token: 'a' }, 7 * HOUR_MS)).toBe(true)
    expect(await admin.get(`${prefix}k`)).toBe('completed 1 0 a')
    expect(await hoursLeft(`${prefix}k`)).toBe(7)
    expect(await store.complete({ key: 'k', token: 'a' }, 3 * HOUR_MS)).toBe(true)
    expect(await hoursLeft(`${prefix}k`)).toBe(3)
  })

  test('is released for as long as it would have been kept', async () => {
    const store = await open()
    await store.claim(claimOf('k', 'a'))
    await admin.pexpire(`${prefix}k`, 9 * HOUR_MS)
    expect(await store.release({ key: 'k', token: 'a' })).toBe(true)
    expect(await admin.get(`${prefix}k`)).toBe('released 1 0 a')
    expect(await hoursLeft(`${prefix}k`)).toBe(9)
  })

  test('gets a new end of its lease, and nothing else, when it is renewed', async () => {
    const store = await open()
    await store.claim(claimOf('k', 'a'))
    await admin.pexpire(`${prefix}k`, 9 * HOUR_MS)
    expect(await store.renew({ key: 'k', token: 'a' }, 2 * HOUR_MS)).toBe(true)
    const [state, attempt, leaseEnd, token] = String(await admin.get(`${prefix}k`)).split(' ')
    expect([state, attempt, token]).toEqual(['running', '1', 'a'])
    expect(Math.ceil(Number(leaseEnd) / HOUR_MS)).toBe(7)
    expect(await hoursLeft(`${prefix}k`)).toBe(9)
  })

  test('keeps its token to the character, whatever is in it', async () => {
    const store = await open()
    const token = 'released 7 0 a  '
    await store.claim(claimOf('k', token))
    expect(await store.claim(claimOf('k', 'a'))).toMatchObject({ status: 'in_flight' })
    for (const other of ['a', 'released', ' 7 0 a  ', 'released 7 0 a']) {
      expect(await store.complete({ key: 'k', token: other }, HOUR_MS)).toBe(false)
    }
    expect(await store.renew({ key: 'k', token }, HOUR_MS)).toBe(true)
    expect(await store.complete({ key: 'k', token }, HOUR_MS)).toBe(true)
    expect(await admin.get(`${prefix}k`)).toBe(`completed 1 0 ${token}`)
  })

  test('has times to the millisecond, however long they are', async () => {
    const store = await open()
    const retainMs = Number.MAX_SAFE_INTEGER
    await store.claim(claimOf('k', 'a', { leaseMs: 1, retainMs }))
    expect(await admin.get(`${prefix}k`)).toBe(`running 1 ${retainMs - 1} a`)
    await store.renew({ key: 'k', token: 'a' }, HOUR_MS)
    expect(await admin.get(`${prefix}k`)).toMatch(/^running 1 \d{16} a$/)
    expect(await store.claim(claimOf('k', 'b'))).toMatchObject({ status: 'in_flight' })
  })

  test('can be taken when its lease has run out by the clock of the server', async () => {
    const store = await open()
    await store.claim(claimOf('k', 'a', { leaseMs: 1 }))
    await expect
      .poll(() => store.claim(claimOf('k', 'b')), { timeout: 10_000 })
      .toEqual({ status: 'claimed', attempt: 2 })
  })

  test.each(['1999-01-01', '2099-01-01'])('knows nothing of a clock of ours that says %s', async (date) => {
    const store = await open()
    await store.claim(claimOf('k', 'a'))
    vi.useFakeTimers({ now: new Date(date), toFake: ['Date'] })
    expect(await store.claim(claimOf('k', 'b'))).toMatchObject({ status: 'in_flight' })
    await store.renew({ key: 'k', token: 'a' }, HOUR_MS)
    expect(await admin.get(`${prefix}k`)).toMatch(/^running 1 3[56]\d{5} a$/)
    await store.complete({ key: 'k', token: 'a' }, 2 * HOUR_MS)
    expect(await hoursLeft(`${prefix}k`)).toBe(2)
  })

  test('has times in whole milliseconds, rounded up', async () => {
    const store = await open()
    await store.claim(claimOf('k', 'a', { leaseMs: HOUR_MS + 0.25, retainMs: 2 * HOUR_MS + 0.25 }))
    expect(await admin.get(`${prefix}k`)).toBe(`running 1 ${HOUR_MS} a`)
    expect(await store.renew({ key: 'k', token: 'a' }, 0.001)).toBe(true)
    expect(await admin.get(`${prefix}k`)).toMatch(/^running 1 7\d{6} a$/)
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
  })

  test('begins with the keyPrefix of an ioredis client, which sends scripts in the same way', async () => {
    const client = await connectIoredis(redisUrl(), { keyPrefix: prefix })
    const store = redisStore(client, { prefix: 'own:' })
    expect(await store.claim(claimOf('k', 'a'))).toEqual({ status: 'claimed', attempt: 1 })
    expect(await store.release({ key: 'k', token: 'a' })).toBe(true)
    expect(await admin.get(`${prefix}own:k`)).toBe('released 1 0 a')
  })
})
