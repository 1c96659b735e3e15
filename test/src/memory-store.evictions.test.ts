import { type IdempotencyStore, memoryStore } from 'tix-webhooks'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'

describe('who is told of an eviction', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })

  afterEach(() => {
    vi.restoreAllMocks()
    vi.useRealTimers()
  })

  const RETAIN = 604_800_000

  /** Handles events that nobody has seen before: a store of one record drops one for each after the first. */
  async function overflow(store: IdempotencyStore, times = 1): Promise<void> {
    for (let i = 0; i < times; i++) {
      const lease = { key: crypto.randomUUID(), token: 't' }
      await store.claim({ ...lease, leaseMs: 30_000, retainMs: RETAIN })
      await store.complete(lease, RETAIN)
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

  test('each store warns for itself', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    await overflow(memoryStore({ maxKeys: 1 }), 2)
    await overflow(memoryStore({ maxKeys: 1 }), 2)
    expect(warn).toHaveBeenCalledTimes(2)
  })
})
