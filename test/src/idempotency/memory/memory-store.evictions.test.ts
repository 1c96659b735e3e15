import { type IdempotencyStore, memoryStore } from 'tix-webhooks'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { boundedStore, keys, RETAIN } from '../../../support/bounded-store.js'

describe('what one eviction takes', () => {
  test('is an eighth of what a burst has left', async () => {
    const set = boundedStore(800)
    await set.handle(...keys(800))
    await set.claim('one more')
    expect(set.evictions.map(({ count }) => count)).toEqual([100])
  })

  test('is no more after a quiet time of many small generations', async () => {
    const set = boundedStore(800)
    for (const key of keys(40, 'quiet')) {
      await set.handle(key)
      set.advance(RETAIN / 8)
    }

    await set.handle(...keys(2_000))

    expect(Math.max(...set.evictions.map(({ count }) => count))).toBeLessThanOrEqual(200)
  })
})

describe('the report of an eviction', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })

  afterEach(() => {
    vi.restoreAllMocks()
    vi.useRealTimers()
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
    const onEvict = vi.fn(() => {
      throw new Error('the metrics are down')
    })
    const store = memoryStore({ maxKeys: 1, onEvict })
    await overflow(store, 3)
    expect(onEvict).toHaveBeenCalledTimes(2)
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

    vi.advanceTimersByTime(3_599_999)
    await overflow(store, 50)
    expect(warn).toHaveBeenCalledTimes(1)
    vi.advanceTimersByTime(1)
    await overflow(store, 50)
    expect(warn).toHaveBeenCalledTimes(2)
  })
})
