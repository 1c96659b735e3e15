import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { within } from '../../../../src/lib/time/alarm-clock.js'
import { never } from '../../../support/promises.js'
import { advance } from '../../../support/virtual-time.js'

describe('work that is waited for', () => {
  const late = () => 'late'

  beforeEach(() => {
    vi.useFakeTimers()
  })

  afterEach(() => {
    vi.useRealTimers()
  })

  test.each([0, 0.5, 2_000, 2_147_483_000])('for %d ms is late after them, and not before', async (ms) => {
    const settled = vi.fn()
    void within<string>(never(), ms, late).then(settled)
    await advance(Math.max(0, ms - 1) / 1000)
    if (ms > 1) expect(settled).not.toHaveBeenCalled()
    await advance(0.002)
    expect(settled.mock.calls).toEqual([['late']])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('gives its result, or its error, and leaves no timer behind', async () => {
    expect(await within(Promise.resolve('done'), 50, late)).toBe('done')
    await expect(within(Promise.reject(new Error('down')), 50, late)).rejects.toThrow('down')
    expect(vi.getTimerCount()).toBe(0)
  })

  test('ends with what is thrown when it is late', async () => {
    const ended = within<string>(never(), 50, () => {
      throw new Error('too late')
    })
    ended.catch(() => {})
    await advance(0.05)
    await expect(ended).rejects.toThrow('too late')
  })

  // Past some 24.8 days a timer fires at once.
  test.each([
    [-1, '-1'],
    [2_147_483_001, '2147483001'],
    [Number.POSITIVE_INFINITY, 'Infinity'],
    [Number.NaN, 'NaN'],
    ['50', '"50"'],
    [undefined, 'undefined'],
  ])('cannot be waited for %j ms, and its own rejection is not left unhandled', async (ms, shown) => {
    const unhandled = vi.fn()
    process.on('unhandledRejection', unhandled)
    await expect(within(Promise.reject(new Error('unheard')), ms as number, late)).rejects.toThrow(
      new TypeError(`ms must be a number of milliseconds from 0 to 2147483000, not ${shown}.`),
    )
    await advance(1)
    process.off('unhandledRejection', unhandled)
    expect(unhandled).not.toHaveBeenCalled()
  })
})
