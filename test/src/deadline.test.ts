import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  MAX_TIMER_SECONDS,
  monotonicMs,
  pause,
  startBackgroundTimer,
  startDeadline,
} from '../../src/deadline.js'
import { never } from '../support/promises.js'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

const late = (): string => 'late'

function after(ms: number, value: string): Promise<string> {
  return pause(ms).then(() => value)
}

test('the monotonic clock goes on when the clock of the machine is set back', async () => {
  const before = monotonicMs()
  vi.setSystemTime(0)
  await vi.advanceTimersByTimeAsync(10)
  expect(monotonicMs() - before).toBe(10)
})

test('the longest timer does not fire at once', () => {
  const fired = vi.fn()
  const { clear } = startBackgroundTimer(fired, MAX_TIMER_SECONDS * 1000)
  vi.advanceTimersByTime(MAX_TIMER_SECONDS * 1000 - 1)
  expect(fired).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(fired).toHaveBeenCalledOnce()
  clear()
})

describe('a deadline', () => {
  test('passes after its time, and says what is left of it', async () => {
    const deadline = startDeadline(1_000)
    expect(deadline).toMatchObject({ passed: false, remainingMs: 1_000 })
    await vi.advanceTimersByTimeAsync(999)
    expect(deadline).toMatchObject({ passed: false, remainingMs: 1 })
    await vi.advanceTimersByTimeAsync(1)
    expect(deadline).toMatchObject({ passed: true, remainingMs: 0 })
    await vi.advanceTimersByTimeAsync(1_000)
    expect(deadline).toMatchObject({ passed: true, remainingMs: 0 })
  })

  test('passes by the clock though its timer has not had its turn', () => {
    const deadline = startDeadline(1_000)
    const now = performance.now()
    const blocked = vi.spyOn(performance, 'now').mockReturnValue(now + 1_000)
    expect(deadline).toMatchObject({ passed: true, remainingMs: 0 })
    blocked.mockRestore()
    deadline.clear()
  })

  test('is not moved by the clock of the machine', async () => {
    const deadline = startDeadline(1_000)
    vi.setSystemTime(Date.now() + 86_400_000)
    expect(deadline).toMatchObject({ passed: false, remainingMs: 1_000 })
    vi.setSystemTime(0)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(deadline.passed).toBe(true)
  })

  test('gives what the work gives while there is time', async () => {
    const deadline = startDeadline(1_000)
    const raced = deadline.race(after(999, 'done'), late)
    await vi.advanceTimersByTimeAsync(999)
    expect(await raced).toBe('done')
    await expect(deadline.race(Promise.reject(new Error('broken')), late)).rejects.toThrow('broken')
  })

  test('gives what late gives when the time is over, also when late throws', async () => {
    const deadline = startDeadline(1_000)
    const given = deadline.race(never(), late)
    const thrown = deadline.race(never(), () => {
      throw new Error('too late')
    })
    const refused = expect(thrown).rejects.toThrow('too late')
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await given).toBe('late')
    await refused
  })

  test('does not ask late for work that came in time', async () => {
    const deadline = startDeadline(1_000)
    const asked = vi.fn(late)
    const raced = deadline.race(after(10, 'done'), asked)
    await vi.advanceTimersByTimeAsync(10)
    await raced
    await vi.advanceTimersByTimeAsync(2_000)
    expect(asked).not.toHaveBeenCalled()
  })

  test('takes work that is done already, though it has passed', async () => {
    const deadline = startDeadline(1_000)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await deadline.race(Promise.resolve('done'), late)).toBe('done')
    expect(await deadline.race(never(), late)).toBe('late')
  })

  test('takes work that settles to undefined for done', async () => {
    const deadline = startDeadline(1_000)
    expect(await deadline.race<string | undefined>(Promise.resolve(undefined), late)).toBeUndefined()
  })

  test('races several works, one after the other and at once', async () => {
    const deadline = startDeadline(1_000)
    const first = deadline.race(after(400, 'one'), late)
    const second = deadline.race(after(1_400, 'two'), late)
    await vi.advanceTimersByTimeAsync(400)
    expect(await first).toBe('one')
    await vi.advanceTimersByTimeAsync(600)
    expect(await second).toBe('late')
  })

  test('does not make a rejection unhandled that comes after it', async () => {
    const deadline = startDeadline(1_000)
    const work = pause(2_000).then(() => Promise.reject<string>(new Error('nobody listens any more')))
    const raced = deadline.race(work, late)
    await vi.advanceTimersByTimeAsync(3_000)
    expect(await raced).toBe('late')
  })

  test('leaves no timer when it is cleared', () => {
    const deadline = startDeadline(1_000)
    expect(vi.getTimerCount()).toBe(1)
    deadline.clear()
    deadline.clear()
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('a background timer', () => {
  test('fires once, unless it is cleared', () => {
    const [fired, cleared] = [vi.fn(), vi.fn()]
    startBackgroundTimer(fired, 10)
    startBackgroundTimer(cleared, 10).clear()
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
    const cleared = vi.spyOn(globalThis, 'clearTimeout').mockImplementation(() => {})
    startBackgroundTimer(() => {}, 10).clear()
    expect(cleared).toHaveBeenCalledWith(7)
    set.mockRestore()
    cleared.mockRestore()
  })
})
