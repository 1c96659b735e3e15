import fc from 'fast-check'
import { type IdempotencyStore, memoryStore, StoreError } from 'tix-webhooks'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { boundedStore, keys, RETAIN } from '../../../support/bounded-store.js'
import { throws } from '../../../support/promises.js'
import { jump } from '../../../support/time-jumps.js'

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
    const onEvict = vi.fn(throws(new Error('the metrics are down')))
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

    jump(3_500)
    await overflow(store, 50)
    expect(warn).toHaveBeenCalledTimes(1)
    jump(100)
    await overflow(store, 50)
    expect(warn).toHaveBeenCalledTimes(2)
  })
})
