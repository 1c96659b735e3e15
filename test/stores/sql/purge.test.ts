import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createPurger } from '../../../stores/sql/purge.js'
import { notRefusedLimits } from '../../support/invalid-inputs.js'
import { deferred } from '../../support/promises.js'
import { advance } from '../../support/virtual-time.js'

beforeEach(() => {
  vi.useFakeTimers()
  vi.spyOn(console, 'warn').mockImplementation(() => {})
})

afterEach(() => {
  // A background purge does not end by itself.
  vi.clearAllTimers()
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const DEFAULT_LIMIT = 1_000

const DOWN = new Error('connect ECONNREFUSED')

/** A purge that returns these numbers in order, then 0. */
function purging(...gone: (number | Error)[]) {
  return vi.fn(async () => {
    const next = gone.shift() ?? 0
    if (typeof next !== 'number') throw next
    return next
  })
}

describe('a background purge', () => {
  test('begins with the first start, and repeats every so many seconds', async () => {
    const purge = purging()
    const purger = createPurger(purge, 60)
    await advance(600)
    expect(purge).not.toHaveBeenCalled()
    purger.start()
    await advance(59.9)
    expect(purge).not.toHaveBeenCalled()
    await advance(0.1)
    expect(purge).toHaveBeenCalledTimes(1)
    await advance(60)
    expect(purge).toHaveBeenCalledTimes(2)
    await advance(600)
    expect(purge).toHaveBeenCalledTimes(12)
  })

  test('goes on batch by batch until one is not full, each of the default size, and others get a turn in between', async () => {
    const order: string[] = []
    const gone = [DEFAULT_LIMIT, DEFAULT_LIMIT, 999, 5]
    const purge = vi.fn(async () => {
      order.push('purge')
      setTimeout(() => order.push('another'), 0)
      return gone.shift() ?? 0
    })
    createPurger(purge, 60).start()
    await advance(61)
    expect(purge.mock.calls).toEqual([[DEFAULT_LIMIT], [DEFAULT_LIMIT], [DEFAULT_LIMIT]])
    expect(order).toEqual(['purge', 'another', 'purge', 'another', 'purge', 'another'])
    await advance(61)
    expect(purge).toHaveBeenCalledTimes(4)
  })

  test('never overlaps itself: the next one is counted from the end of the last', async () => {
    const slow = deferred<number>()
    const purge = vi.fn(() => slow.promise)
    createPurger(purge, 60).start()
    await advance(600)
    expect(purge).toHaveBeenCalledTimes(1)
    slow.resolve(0)
    await advance(59.9)
    expect(purge).toHaveBeenCalledTimes(1)
    await advance(0.1)
    expect(purge).toHaveBeenCalledTimes(2)
  })

  test('keeps no process alive, at its start and after each purge', async () => {
    const started = vi.spyOn(globalThis, 'setTimeout')
    createPurger(purging(), 60).start()
    await advance(60)
    const timers = started.mock.results.map(({ value }) => value as NodeJS.Timeout)
    expect(timers.map((timer) => timer.hasRef())).toEqual([false, false])
  })

  test('warns once when it fails, goes on, and warns again of the next outage', async () => {
    const purge = purging(DOWN, DOWN, DOWN, 3, DEFAULT_LIMIT, DOWN, DOWN)
    createPurger(purge, 60).start()
    await advance(60)
    expect(console.warn).toHaveBeenCalledTimes(1)
    expect(console.warn).toHaveBeenCalledWith(
      expect.stringMatching(
        /^tix-webhooks: records past their retention could not be purged: connect ECONNREFUSED$/,
      ),
    )
    await advance(180)
    expect(purge).toHaveBeenCalledTimes(4)
    expect(console.warn).toHaveBeenCalledTimes(1)
    await advance(61)
    expect(purge).toHaveBeenCalledTimes(6)
    expect(console.warn).toHaveBeenCalledTimes(2)
    await advance(61)
    expect(purge).toHaveBeenCalledTimes(7)
    expect(console.warn).toHaveBeenCalledTimes(2)
  })
})

// A timer of more than some 24.8 days fires at once.
test.each([
  [0, '0'],
  [2_147_484, '2147484'],
  [Number.NaN, 'NaN'],
  ['60', '"60"'],
])('purgeEverySeconds cannot be %j', (seconds, shown) => {
  expect(() => createPurger(purging(), seconds as number)).toThrow(
    new TypeError(`purgeEverySeconds must be a number of seconds above 0 and at most 2147483, not ${shown}.`),
  )
})

test('the limit of a purge is 1,000 by default', async () => {
  const purger = createPurger(async (limit) => limit)
  for (const options of [undefined, {}, { limit: undefined }]) {
    expect(await purger.purge(options as object)).toBe(DEFAULT_LIMIT)
  }
  expect(await purger.purge({ limit: Number.MAX_SAFE_INTEGER })).toBe(Number.MAX_SAFE_INTEGER)
  expect(await notRefusedLimits(purger)).toEqual([])
})
