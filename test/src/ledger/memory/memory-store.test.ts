import fc from 'fast-check'
import { type Eviction, type IdempotencyStore, memoryStore, StoreError } from 'tix-webhooks'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { orderCreated } from '../../../support/deliveries.js'
import { deferred, throws } from '../../../support/promises.js'
import { receiving } from '../../../support/receiving.js'
import { runs } from '../../../support/runs.js'
import { jump } from '../../../support/time-jumps.js'
import { advance, useVirtualTime } from '../../../support/virtual-time.js'

useVirtualTime()

const LEASE = 30_000
const RETAIN = 1_000_000

/** A small store with a manual clock, and its reports of evictions. */
function boundedStore(maxKeys: number, options: { onFull?: 'evict' | 'reject' } = {}) {
  let now = 0
  const evictions: Eviction[] = []
  const store = memoryStore({
    maxKeys,
    now: () => now,
    onEvict: (eviction) => evictions.push(eviction),
    ...options,
  })
  const claim = async (key: string, token = key) =>
    store.claim({ key, token, leaseMs: LEASE, retainMs: RETAIN })
  return {
    store,
    evictions,
    claim,
    complete: async (key: string, token = key) => store.complete({ key, token }, RETAIN),
    release: async (key: string, token = key) => store.release({ key, token }),
    /** Whether it runs with this token. A completion would not show that, because it also succeeds on an absent record. */
    isHeld: async (key: string, token = key) => store.renew({ key, token }, LEASE),
    async handle(...keys: string[]) {
      for (const key of keys) {
        await claim(key)
        await store.complete({ key, token: key }, RETAIN)
      }
    },
    advance(ms: number) {
      now += ms
    },
    time: () => now,
    evicted: () => evictions.reduce((sum, { count }) => sum + count, 0),
  }
}

const keys = (count: number): string[] => Array.from({ length: count }, (_, index) => `k${index}`)

/**
 * The number of keys remembered as handled. Asked from the youngest on, because a claim of a forgotten key makes room by evicting
 * the oldest.
 */
async function countCompleted({ claim }: ReturnType<typeof boundedStore>, of: string[]): Promise<number> {
  let count = 0
  for (const key of [...of].reverse()) {
    const result = await claim(key, 'another token').catch(() => undefined)
    if (result?.status !== 'completed') break
    count += 1
  }
  return count
}

describe('a store that is full', () => {
  test('drops the oldest settled records, and reports how many and how old they were', async () => {
    const set = boundedStore(16)
    for (const key of keys(16)) {
      await set.handle(key)
      set.advance(1_000)
    }
    expect(set.evictions).toEqual([])

    await set.claim('one more')

    // 16 records are 8 generations of 2; the younger of the two evicted records was settled 15 s ago.
    expect(set.evictions).toEqual([{ count: 2, ageMs: 15_000 }])
    expect(await countCompleted(set, keys(16))).toBe(14)
  })

  test('forgets runs that were abandoned and are past their retention first', async () => {
    const set = boundedStore(16)
    for (const key of keys(16)) await set.claim(key)
    set.advance(RETAIN)

    expect(await set.claim('one more')).toEqual({ status: 'claimed', attempt: 1 })
    expect(set.evictions).toEqual([])
  })
})

test('the completion of an absent record needs room, too', async () => {
  const set = boundedStore(1, { onFull: 'reject' })
  await set.claim('running')
  await expect(set.complete('lost')).rejects.toMatchObject({ code: 'store_full' })
})

/** Each claim has its own token, as each delivery does; no time passes, so that nothing expires. */
const traffic = fc.array(
  fc.record({
    do: fc.constantFrom('claim', 'claim', 'complete', 'release'),
    key: fc.integer({ min: 0, max: 30 }).map(String),
  }),
  { maxLength: 200, size: 'max' },
)

test.each(['evict', 'reject'] as const)(
  "onFull '%s': never more than maxKeys, never a running record lost, every eviction reported",
  { tags: ['slow'] },
  async (onFull) => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 20 }), traffic, async (maxKeys, steps) => {
        const set = boundedStore(maxKeys, { onFull })
        const running = new Map<string, string>()
        const settled = new Map<string, { token: string; call: 'complete' | 'release' }>()
        let granted = 0
        for (const [index, { do: call, key }] of steps.entries()) {
          const runningToken = running.get(key)
          if (call === 'claim') {
            const token = `t${index}`
            const size = granted - set.evicted()
            const result = await set.claim(key, token).catch((error: unknown) => error)
            if (result instanceof StoreError) {
              expect(result.code).toBe('store_full')
              expect(size).toBe(maxKeys)
              if (onFull === 'evict') expect(running.size).toBe(maxKeys)
            } else if ((result as { status: string }).status === 'claimed') {
              expect(running.has(key)).toBe(false)
              running.set(key, token)
              if ((result as { attempt: number }).attempt === 1) granted += 1
            }
          } else if (runningToken !== undefined) {
            expect(await set[call as 'complete' | 'release'](key, runningToken)).toBe(true)
            running.delete(key)
            settled.delete(key)
            settled.set(key, { token: runningToken, call: call as 'complete' | 'release' })
          }
          expect(granted - set.evicted()).toBeLessThanOrEqual(maxKeys)
        }
        expect(set.evictions.filter(({ count }) => count === 0)).toEqual([])
        // Its reports of evictions are true: exactly the rest is there.
        const kept = granted - set.evicted()
        let left = 0
        for (const [key, token] of running) {
          settled.delete(key)
          expect(await set.isHeld(key, token)).toBe(true)
          left += 1
        }
        const completed: string[] = []
        for (const [key, { token, call }] of settled) {
          if (call === 'complete') completed.push(key)
          else if (await set.release(key, token)) left += 1
        }
        if (onFull === 'reject') expect(set.evictions).toEqual([])
        expect(left + (await countCompleted(set, completed))).toBe(kept)
      }),
      { numRuns: 300 },
    )
  },
)

describe('the report of an eviction', () => {
  afterEach(() => {
    vi.restoreAllMocks()
  })

  const RETAIN_MS = 604_800_000

  /** Handles new events: a store of one record evicts one for each after the first. */
  async function overflow(store: IdempotencyStore, times = 1): Promise<void> {
    for (let i = 0; i < times; i++) {
      const lease = { key: crypto.randomUUID(), token: 't' }
      await store.claim({ ...lease, leaseMs: 30_000, retainMs: RETAIN_MS })
      await store.complete(lease, RETAIN_MS)
    }
  }

  test('a listener that throws does not disturb the claim', async () => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
    onTestFinished(() => printed.mockRestore())
    const onEvict = vi.fn(throws(new Error('the metrics are down')))
    const store = memoryStore({ maxKeys: 1, onEvict })
    await overflow(store, 3)
    expect(onEvict).toHaveBeenCalledTimes(2)
    expect(printed.mock.calls).toEqual([['tix-webhooks: onEvict failed. Logged once: the metrics are down']])
  })

  test('a listener that rejects does not become an unhandled rejection', async () => {
    const rejection = Promise.reject(new Error('the metrics are down'))
    const then = vi.spyOn(rejection, 'then')
    const store = memoryStore({ maxKeys: 1, onEvict: () => rejection })

    await overflow(store, 2)

    const isHeard = then.mock.calls.length > 0
    await rejection.catch(() => {})
    expect(isHeard).toBe(true)
  })

  test('without a listener it is console.warn, hourly at most', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const store = memoryStore({ maxKeys: 1 })
    await overflow(store, 1)
    expect(warn).not.toHaveBeenCalled()

    await overflow(store, 50)
    expect(warn).toHaveBeenCalledTimes(1)
    expect(warn).toHaveBeenCalledWith(expect.stringMatching(/memory store is full.*maxKeys/))

    jump(3_500)
    await overflow(store, 50)
    expect(warn).toHaveBeenCalledTimes(1)
    jump(100)
    await overflow(store, 50)
    expect(warn).toHaveBeenCalledTimes(2)
  })
})

const REQUEST = { key: 'k', token: 'mine', leaseMs: 30_000, retainMs: 1_000_000 }
const OTHER = { ...REQUEST, token: 'other' }

test('time is monotonic: setting the clock of the machine frees no lease and forgets no record', async () => {
  const store = memoryStore()
  await store.claim(REQUEST)

  vi.setSystemTime(Date.now() + 365 * 86_400_000)
  expect(await store.claim(OTHER)).toEqual({ status: 'in_flight', retryAfterMs: 30_000 })
  await store.complete(REQUEST, 1_000_000)
  vi.setSystemTime(0)
  expect(await store.claim(OTHER)).toEqual({ status: 'completed' })
})

/** At least five times the capacity of the store. */
const EVENTS = Math.max(runs(250_000), 250_000)

test('events go through a store of 50,000, which stays within its bound', { tags: ['slow'] }, async () => {
  let now = 0
  let evicted = 0
  const store = memoryStore({
    maxKeys: 50_000,
    now: () => now,
    onEvict: ({ count }) => {
      evicted += count
    },
  })

  // A store that walks its keys would take many minutes, and run into the time limit of the test.
  let largest = 0
  for (let index = 0; index < EVENTS; index++) {
    const lease = { key: `orders/order.created/ord_${index}`, token: `t.${index}` }
    now += 0.1
    void store.claim({ ...lease, leaseMs: 30_000, retainMs: 604_800_000 })
    void store.complete(lease, 604_800_000)
    largest = Math.max(largest, index + 1 - evicted)
    // The calls are synchronous; their promises are released in batches.
    if (index % 10_000 === 0) await Promise.resolve()
  }

  expect(largest).toBe(50_000)
  const last = { key: `orders/order.created/ord_${EVENTS - 1}`, token: 'another', leaseMs: 1, retainMs: 1 }
  expect(await store.claim(last)).toEqual({ status: 'completed' })
})

test.each([
  ['maxKeys', 0],
  ['maxKeys', -1],
  ['maxKeys', 1.5],
  ['maxKeys', Number.NaN],
  ['maxKeys', Number.POSITIVE_INFINITY],
  ['maxKeys', '1000'],
  ['maxKeys', null],
  ['onFull', 'drop'],
  ['onFull', null],
  ['onEvict', 'console'],
  ['onEvict', null],
  ['now', 1_760_000_000_000],
  ['now', null],
])('an invalid option is refused: %s, %j', (option, value) => {
  const create = (): unknown => memoryStore({ [option]: value })
  expect(create).toThrow(TypeError)
  expect(create).toThrow(new RegExp(`^${option} must be`))
})

describe('the store of a receiver', () => {
  test('by default fails as misconfigured where the clock that was given does', async () => {
    const handler = vi.fn()
    const on = { 'order.created': handler }
    let readings = 0
    const now = () => {
      readings += 1
      return readings === 1 ? Date.now() : Number.NaN
    }
    const { send } = receiving({ now, on })
    expect(await send(orderCreated())).toMatchObject({ outcome: 'misconfigured' })
    expect(handler).not.toHaveBeenCalled()
    await advance(2)
  })

  test('by default keeps its leases when the clock of the receiver steps forward by a month', async () => {
    let steppedMs = 0
    const now = (): number => Date.now() + steppedMs
    const work = deferred()
    const handler = vi.fn(() => work.promise)
    const { send } = receiving({
      now,
      toleranceSeconds: 1e8,
      retentionSeconds: 1e8,
      on: { 'order.created': handler },
    })
    const order = orderCreated()
    const first = send(order)
    await advance(0)
    steppedMs = 30 * 86_400_000
    expect(await send(order)).toMatchObject({ outcome: 'in_flight' })
    work.resolve()
    expect(await first).toEqual({ outcome: 'handled' })
    expect(await send(order)).toEqual({ outcome: 'duplicate' })
    expect(handler).toHaveBeenCalledOnce()
  })
})

/** Few characters and lengths, so that two tokens often share their start or their end. */
const tokens = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 6 }),
  fc.string({ unit: fc.constantFrom('0', '1', '~', ' '), minLength: 34, maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 5 }),
)

test('the token of a completed record differs from every other', { tags: ['slow'] }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(tokens, { minLength: 2, maxLength: 12 }), async (all) => {
      const set = boundedStore(100)
      for (const [index, token] of all.entries()) {
        await set.claim(`k${index}`, token)
        await set.complete(`k${index}`, token)
      }
      for (const [index, token] of all.entries()) {
        for (const other of all) {
          expect(await set.complete(`k${index}`, other), `${token} and ${other}`).toBe(other === token)
        }
      }
    }),
    { numRuns: 500 },
  )
})

/** 60 completed keys and 60 released ones, in so many generations that most were merged. */
async function mergedStore() {
  const set = boundedStore(240)
  const completed = Array.from({ length: 60 }, (_, index) => ({
    key: `k${index}`,
    token: `token of k${index}`,
    expiresAt: index * 8 + 2 * RETAIN + index,
  }))
  for (const { key, token, expiresAt } of completed) {
    await set.claim(key, token)
    await set.store.complete({ key, token }, expiresAt - set.time())
    await set.claim(`failed ${key}`, token)
    await set.release(`failed ${key}`, token)
    // A short retention starts a generation each time; there are never more than sixteen.
    await set.claim('short')
    await set.store.complete({ key: 'short', token: 'short' }, 64)
    set.advance(8)
  }
  return { set, completed }
}

describe('after generations were merged', () => {
  test('tokens and attempts are still known', async () => {
    const { set, completed } = await mergedStore()

    for (const { key, token } of completed) {
      expect(await set.complete(key, `no ${token}`)).toBe(false)
      expect(await set.claim(key, 'another')).toEqual({ status: 'completed' })
      expect(await set.complete(key, token)).toBe(true)
      expect(await set.release(`failed ${key}`, 'another')).toBe(false)
      expect(await set.claim(`failed ${key}`, 'another')).toEqual({ status: 'claimed', attempt: 2 })
    }
    expect(set.evictions).toEqual([])
  })

  test('each record is still kept as long as it was to be', async () => {
    const { set, completed } = await mergedStore()

    for (const { key, expiresAt } of completed) {
      set.advance(expiresAt - 1 - set.time())
      expect(await set.claim(key, 'another')).toEqual({ status: 'completed' })
      set.advance(1)
      expect(await set.claim(key, 'another')).toEqual({ status: 'claimed', attempt: 1 })
    }
  })
})
