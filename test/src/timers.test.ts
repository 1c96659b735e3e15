import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { MAX_TIMER_SECONDS, monotonicMs, pause, startBackgroundTimer, Timers } from '../../src/lib/timers.js'
import { never } from '../support/promises.js'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

test('the monotonic clock goes on when the clock of the machine is set back', async () => {
  const before = monotonicMs()
  vi.setSystemTime(0)
  await vi.advanceTimersByTimeAsync(10)
  expect(monotonicMs() - before).toBe(10)
})

test('the longest timer does not fire at once', () => {
  const fired = vi.fn()
  const timer = startBackgroundTimer(fired, MAX_TIMER_SECONDS * 1000)
  vi.advanceTimersByTime(MAX_TIMER_SECONDS * 1000 - 1)
  expect(fired).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(fired).toHaveBeenCalledOnce()
  clearTimeout(timer)
})

describe('a background timer', () => {
  test('fires once, unless it is cleared', () => {
    const [fired, cleared] = [vi.fn(), vi.fn()]
    startBackgroundTimer(fired, 10)
    clearTimeout(startBackgroundTimer(cleared, 10))
    vi.advanceTimersByTime(100)
    expect(fired).toHaveBeenCalledOnce()
    expect(cleared).not.toHaveBeenCalled()
  })

  test('does not keep the process alive', () => {
    const unref = vi.fn()
    const set = vi
      .spyOn(globalThis, 'setTimeout')
      .mockReturnValue({ unref } as unknown as ReturnType<typeof setTimeout>)
    startBackgroundTimer(() => {}, 10)
    set.mockRestore()
    expect(unref).toHaveBeenCalledOnce()
  })

  test('works where timers are plain numbers', () => {
    const set = vi
      .spyOn(globalThis, 'setTimeout')
      .mockReturnValue(7 as unknown as ReturnType<typeof setTimeout>)
    expect(startBackgroundTimer(() => {}, 10)).toBe(7)
    set.mockRestore()
  })
})

describe('the timers of a delivery', () => {
  const atOnce = ['at the end of a turn', () => {}] as const
  const without = ['where there is no setImmediate', () => vi.stubGlobal('setImmediate', undefined)] as const
  const refusing = [
    'where setImmediate only throws',
    () => {
      vi.stubGlobal('setImmediate', () => {
        throw new Error('not supported here')
      })
    },
  ] as const

  describe.each([atOnce, without, refusing])('%s', (_, prepare) => {
    beforeEach(prepare)

    test('fire at their time, unless they are cleared', async () => {
      const timers = new Timers()
      const [fired, cleared, later] = [vi.fn(), vi.fn(), vi.fn()]
      timers.set(fired, monotonicMs() + 1_000)
      timers.set(cleared, monotonicMs() + 1_000).clear()
      timers.set(later, monotonicMs() + 1_001, true)
      await vi.advanceTimersByTimeAsync(999)
      expect(fired).not.toHaveBeenCalled()
      await vi.advanceTimersByTimeAsync(1)
      expect(fired).toHaveBeenCalledOnce()
      expect(later).not.toHaveBeenCalled()
      await vi.advanceTimersByTimeAsync(1)
      expect(later).toHaveBeenCalledOnce()
      expect(cleared).not.toHaveBeenCalled()
    })

    test('can be cleared after they were started, and more than once', async () => {
      const timers = new Timers()
      const [fired, cleared] = [vi.fn(), vi.fn()]
      const alarm = timers.set(cleared, monotonicMs() + 1_000)
      timers.set(fired, monotonicMs() + 1_000)
      await vi.advanceTimersByTimeAsync(500)
      alarm.clear()
      alarm.clear()
      await vi.advanceTimersByTimeAsync(500)
      expect(cleared).not.toHaveBeenCalled()
      expect(fired).toHaveBeenCalledOnce()
    })

    test('leave nothing behind when all are cleared', () => {
      const timers = new Timers()
      const alarms = [1, 2, 3].map((ms) => timers.set(() => {}, monotonicMs() + ms))
      for (const alarm of alarms) alarm.clear()
      for (const alarm of alarms) alarm.clear()
      expect(vi.getTimerCount()).toBe(0)
    })
  })

  test('count the time for which the event loop was blocked before they were started', async () => {
    const timers = new Timers()
    const fired = vi.fn()
    timers.set(fired, monotonicMs() + 1_000)
    const now = performance.now()
    const blocked = vi.spyOn(performance, 'now').mockReturnValue(now + 5_000)
    const set = vi.spyOn(globalThis, 'setTimeout')
    vi.advanceTimersToNextTimer()
    blocked.mockRestore()
    // Not below: Node warns of it.
    expect(set.mock.lastCall?.[1]).toBe(0)
    set.mockRestore()
    await vi.advanceTimersByTimeAsync(1)
    expect(fired).toHaveBeenCalledOnce()
  })

  test('are real ones only when the turn is over', async () => {
    const set = vi.spyOn(globalThis, 'setTimeout')
    const timers = new Timers()
    timers.set(() => {}, monotonicMs() + 1_000).clear()
    const kept = timers.set(() => {}, monotonicMs() + 1_000)
    expect(set).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(0)
    expect(set).toHaveBeenCalledOnce()
    kept.clear()
  })

  test('are cleared by the counterpart of what set them, when fake timers come or go in between', () => {
    const [fake, real] = [vi.spyOn(globalThis, 'clearImmediate'), vi.fn()]
    const alarm = new Timers().set(() => {}, monotonicMs() + 1_000)
    vi.stubGlobal('clearImmediate', real)
    alarm.clear()
    expect(real).not.toHaveBeenCalled()
    expect(fake).toHaveBeenCalledOnce()
    expect(vi.getTimerCount()).toBe(0)
  })

  test('take no other with them when they are cleared twice before they were started', async () => {
    const timers = new Timers()
    const fired = vi.fn()
    const cleared = timers.set(() => {}, monotonicMs() + 1_000)
    timers.set(fired, monotonicMs() + 1_000)
    cleared.clear()
    cleared.clear()
    await vi.advanceTimersByTimeAsync(1_000)
    expect(fired).toHaveBeenCalledOnce()
  })

  test('that are all cleared within a turn make room for those that are set after them in it', async () => {
    const timers = new Timers()
    const fired = vi.fn()
    timers.set(() => {}, monotonicMs() + 1_000).clear()
    timers.set(fired, monotonicMs() + 1_000)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(fired).toHaveBeenCalledOnce()
  })

  test('give what work gives in time, and what late gives or throws after it', async () => {
    const timers = new Timers()
    const late = vi.fn(() => 'late')
    expect(await timers.within(Promise.resolve('done'), 1_000, late)).toBe('done')
    await expect(timers.within(Promise.reject(new Error('broken')), 1_000, late)).rejects.toThrow('broken')
    const inTime = timers.within(
      pause(999).then(() => 'done'),
      1_000,
      late,
    )
    await vi.advanceTimersByTimeAsync(2_000)
    expect(await inTime).toBe('done')
    expect(late).not.toHaveBeenCalled()

    const given = timers.within(never<string>(), 1_000, late)
    const thrown = timers.within(never(), 1_000, () => {
      throw new Error('too late')
    })
    const refused = expect(thrown).rejects.toThrow('too late')
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await given).toBe('late')
    await refused
    expect(vi.getTimerCount()).toBe(0)
  })
})
