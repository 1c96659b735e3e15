import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createPurger } from '../../../src/idempotency/purge.js'
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

  test('starts only once, however many deliveries there are', async () => {
    const purge = purging()
    const purger = createPurger(purge, 60)
    for (let i = 0; i < 5; i++) purger.start()
    expect(vi.getTimerCount()).toBe(1)
    await advance(30)
    purger.start()
    await advance(30)
    expect(purge).toHaveBeenCalledTimes(1)
    purger.start()
    expect(vi.getTimerCount()).toBe(1)
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

  test.each([
    [
      'throws at once',
      () => {
        throw DOWN
      },
      'ECONNREFUSED',
    ],
    ['rejects with nothing', () => Promise.reject(undefined), 'undefined'],
    ['rejects with text', () => Promise.reject('the disk is full'), 'the disk is full'],
  ])('of a purge that %s goes on all the same', async (_, fails, warning) => {
    const purge = vi.fn(fails as () => Promise<number>)
    createPurger(purge, 60).start()
    await advance(180)
    expect(purge).toHaveBeenCalledTimes(3)
    expect(console.warn).toHaveBeenCalledTimes(1)
    expect(console.warn).toHaveBeenCalledWith(expect.stringContaining(warning))
  })

  test('that fails goes on all the same if the console is one that throws', async () => {
    vi.mocked(console.warn).mockImplementation(() => {
      throw new Error('no warnings here')
    })
    const purge = purging(DOWN)
    createPurger(purge, 60).start()
    await advance(120)
    expect(purge).toHaveBeenCalledTimes(2)
  })

  test('is not there without seconds', async () => {
    const purge = purging()
    const purger = createPurger(purge)
    purger.start()
    expect(vi.getTimerCount()).toBe(0)
  })

  test('does nothing before its start, not even a timer', () => {
    createPurger(purging(), 1)
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('purgeEverySeconds', () => {
  test.each([0.001, 1, 3_600, 2_147_483])('can be %d', (seconds) => {
    expect(() => createPurger(purging(), seconds)).not.toThrow()
  })

  // A timer of more than some 24.8 days fires at once.
  test.each([
    [0, '0'],
    [-1, '-1'],
    [2_147_484, '2147484'],
    [Number.NaN, 'NaN'],
    [Number.POSITIVE_INFINITY, 'Infinity'],
    ['60', '"60"'],
    [null, 'null'],
    [true, 'a boolean'],
  ])('cannot be %j', (seconds, shown) => {
    const make = (): unknown => createPurger(purging(), seconds as number)
    expect(make).toThrow(
      new TypeError(
        `purgeEverySeconds must be a number of seconds above 0 and at most 2147483, not ${shown}.`,
      ),
    )
    expect(make).toThrow(TypeError)
  })
})

describe('the limit of a purge', () => {
  const purgeWith = (limit: unknown) => {
    const deleteExpired = vi.fn(async (most: number) => most)
    return { deleteExpired, purged: createPurger(deleteExpired).purge({ limit: limit as number }) }
  }

  test.each([1, 1_000, Number.MAX_SAFE_INTEGER])('can be %d', async (limit) => {
    const { deleteExpired, purged } = purgeWith(limit)
    expect(await purged).toBe(limit)
    expect(deleteExpired.mock.calls).toEqual([[limit]])
  })

  test.each([[{}], [undefined], [{ limit: undefined }]])('is 1,000 for %j', async (options) => {
    expect(await createPurger(async (limit) => limit).purge(options as object)).toBe(DEFAULT_LIMIT)
  })

  test.each([
    [0, '0'],
    [-1, '-1'],
    [1.5, '1.5'],
    [Number.NaN, 'NaN'],
    [Number.POSITIVE_INFINITY, 'Infinity'],
    [2 ** 53, '9007199254740992'],
    ['10', '"10"'],
    [null, 'null'],
  ])('cannot be %j', async (limit, shown) => {
    const { deleteExpired, purged } = purgeWith(limit)
    await expect(purged).rejects.toThrow(
      new TypeError(`limit must be a whole number of at least 1, not ${shown}.`),
    )
    expect(deleteExpired).not.toHaveBeenCalled()
  })
})
