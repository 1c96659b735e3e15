import fc from 'fast-check'
import {
  type Eviction,
  type IdempotencyStore,
  type MemoryStoreOptions,
  memoryStore,
  StoreError,
} from 'tix-webhooks'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { orderCreated } from '../../../support/deliveries.js'
import { failedDelivery } from '../../../support/failed-delivery.js'
import { deferred, throws } from '../../../support/promises.js'
import { receiving } from '../../../support/receiving.js'
import { runs } from '../../../support/runs.js'
import { jump } from '../../../support/time-jumps.js'
import { advance, useVirtualTime } from '../../../support/virtual-time.js'

useVirtualTime()

const LEASE = 30_000
const RETAIN = 1_000_000

/** A small store with a manual clock, and its reports of evictions. */
function boundedStore(maxKeys: number, options: MemoryStoreOptions = {}) {
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
    failed: (key: string, size: number) =>
      failedDelivery({ key, rawBody: new Uint8Array(size), retainMs: RETAIN }),
    async fail(key: string, size: number, token = key) {
      store.claim({ key, token, leaseMs: LEASE, retainMs: RETAIN })
      return store.fail({ key, token }, this.failed(key, size))
    },
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
  test('drops those that were settled first, but none that runs, and reports how many and how old', async () => {
    const set = boundedStore(4)
    await set.claim('runs for long')
    await set.claim('settled last')
    await set.handle('k1', 'k2')
    set.advance(1_000)
    await set.complete('settled last')
    await set.claim('one more')
    expect(set.evictions).toEqual([{ count: 1, ageMs: 1_000 }])
    await set.claim('and another')
    expect(set.evictions.slice(1)).toEqual([{ count: 1, ageMs: 1_000 }])
    expect(await countCompleted(set, ['k1', 'k2', 'settled last'])).toBe(1)
    expect(await set.isHeld('runs for long')).toBe(true)
  })

  test('drops runs that were abandoned, and forgets what is past its retention without a report', async () => {
    for (const [ms, evictions] of [
      [LEASE, [{ count: 1, ageMs: LEASE }]],
      [RETAIN, []],
    ] as const) {
      const set = boundedStore(2)
      await set.claim('abandoned')
      await set.claim('abandoned too')
      set.advance(ms)
      expect(await set.claim('one more')).toEqual({ status: 'claimed', attempt: 1 })
      expect(set.evictions).toEqual(evictions)
    }
  })

  test('of bytes drops those with bytes, and not for the bytes that it has', async () => {
    const set = boundedStore(100, { maxBytes: 10 })
    await set.handle('handled')
    await set.fail('a', 4)
    set.advance(1)
    await set.fail('b', 6)
    expect(await set.claim('a')).toEqual({ status: 'in_flight', retryAfterMs: 1 })
    expect(await set.claim('a', 'again')).toEqual({ status: 'claimed', attempt: 2 })
    expect(await set.store.fail({ key: 'a', token: 'again' }, set.failed('a', 4))).toBe('failing')
    expect(set.evictions).toEqual([])
    await set.fail('c', 2)
    expect(set.evictions).toEqual([{ count: 1, ageMs: 0 }])
    expect((await set.store.ledger.list()).map(({ key, size }) => [key, size])).toEqual([
      ['c', 2],
      ['a', 4],
    ])
    expect(await set.store.isHandled('handled')).toBe(true)
  })

  test.each(['evict', 'reject'] as const)(
    "onFull '%s': a failure without room is not kept, drops none, and is released",
    async (onFull) => {
      const set = boundedStore(100, { maxBytes: 10, onFull })
      await set.fail('a', 10)
      await expect(set.fail('b', 11)).rejects.toMatchObject({ code: 'store_full' })
      expect(await set.claim('b', 'again')).toEqual({ status: 'claimed', attempt: 2 })
      expect((await set.store.ledger.list()).map(({ key }) => key)).toEqual(['a'])
      expect(set.evictions).toEqual([])
    },
  )
})

test('the completion of an absent record needs room, too', async () => {
  const set = boundedStore(1, { onFull: 'reject' })
  await set.claim('running')
  await expect(set.complete('lost')).rejects.toMatchObject({ code: 'store_full' })
})

test('an event past its retention is unknown to all', async () => {
  const set = boundedStore(10)
  const { store } = set
  await set.handle('handled')
  await set.fail('failed', 1)
  await set.claim('running')
  set.advance(RETAIN - 1)
  expect([await store.ledger.count(), await store.isHandled('handled')]).toEqual([1, true])
  set.advance(1)
  expect([await store.ledger.count(), await store.isHandled('handled')]).toEqual([0, false])
  expect(await store.ledger.groups()).toEqual([])
  expect(await store.ledger.list({ state: 'handled' })).toEqual([])
  for (const key of ['handled', 'failed', 'running']) {
    expect(await store.ledger.get(key)).toBeUndefined()
    expect(await store.ledger.discard(key, { reason: 'old' })).toBeUndefined()
    expect(await set.isHeld(key)).toBe(false)
    expect(await set.claim(key, 'another')).toEqual({ status: 'claimed', attempt: 1 })
  }
})

/** Each claim has its own token, as each delivery does; no time passes, so that nothing expires. */
const traffic = fc.array(
  fc.record({
    do: fc.constantFrom('claim', 'claim', 'complete', 'release', 'fail'),
    key: fc.integer({ min: 0, max: 30 }).map(String),
  }),
  { maxLength: 200, size: 'max' },
)

test.each(['evict', 'reject'] as const)(
  "onFull '%s': never more than maxKeys and maxBytes, never a running record lost, every eviction reported",
  { tags: ['slow'] },
  async (onFull) => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 20 }), traffic, async (maxKeys, steps) => {
        const set = boundedStore(maxKeys, { onFull, maxBytes: 100 })
        const running = new Map<string, string>()
        let granted = 0
        for (const [index, { do: call, key }] of steps.entries()) {
          const token = running.get(key)
          if (call === 'claim') {
            const size = granted - set.evicted()
            const result = await set.claim(key, `t${index}`).catch((error: unknown) => error)
            if (result instanceof StoreError) {
              expect(size).toBe(maxKeys)
              if (onFull === 'evict') expect(running.size).toBe(maxKeys)
            } else if ((result as { status: string }).status === 'claimed') {
              expect(token).toBeUndefined()
              running.set(key, `t${index}`)
              if ((result as { attempt: number }).attempt === 1) granted += 1
            }
          } else if (token !== undefined) {
            running.delete(key)
            if (call === 'fail') {
              const kept = await set.fail(key, Number(key), token).catch(({ code }) => code)
              expect(['failing', 'store_full']).toContain(kept)
              const sizes = (await set.store.ledger.list()).map(({ size = 0 }) => size)
              expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(100)
            } else expect(await set[call as 'complete' | 'release'](key, token)).toBe(true)
          }
          expect(granted - set.evicted()).toBeLessThanOrEqual(maxKeys)
        }
        if (onFull === 'reject') expect(set.evictions).toEqual([])
        for (const [key, token] of running) expect(await set.isHeld(key, token)).toBe(true)
        // Its reports of evictions are true: exactly the rest is there.
        const known = await Promise.all(keys(31).map((key) => set.store.ledger.get(key.slice(1))))
        expect(known.filter((record) => record !== undefined)).toHaveLength(granted - set.evicted())
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
  ['maxKeys', '1000'],
  ['maxBytes', 1.5],
  ['maxBytes', Number.POSITIVE_INFINITY],
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
