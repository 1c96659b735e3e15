import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Deadline } from '../../src/lib/deadline.js'
import { pause } from '../../src/lib/timers.js'
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

describe('a deadline', () => {
  test('passes after its time, and says how much of it has gone', async () => {
    const deadline = new Deadline(1_000)
    expect(deadline).toMatchObject({ passed: false, elapsedMs: 0 })
    await vi.advanceTimersByTimeAsync(999)
    expect(deadline).toMatchObject({ passed: false, elapsedMs: 999 })
    await vi.advanceTimersByTimeAsync(1)
    expect(deadline).toMatchObject({ passed: true, elapsedMs: 1000 })
    await vi.advanceTimersByTimeAsync(1_000)
    expect(deadline).toMatchObject({ passed: true, elapsedMs: 2000 })
  })

  test('passes by the clock though its timer has not had its turn', () => {
    const deadline = new Deadline(1_000)
    const now = performance.now()
    const blocked = vi.spyOn(performance, 'now').mockReturnValue(now + 1_000)
    expect(deadline).toMatchObject({ passed: true, elapsedMs: 1000 })
    blocked.mockRestore()
    deadline.clear()
  })

  test('is not moved by the clock of the machine', async () => {
    const deadline = new Deadline(1_000)
    vi.setSystemTime(Date.now() + 86_400_000)
    expect(deadline).toMatchObject({ passed: false, elapsedMs: 0 })
    vi.setSystemTime(0)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(deadline.passed).toBe(true)
  })

  test('gives what the work gives while there is time', async () => {
    const deadline = new Deadline(1_000)
    const raced = deadline.race(after(999, 'done'), late)
    await vi.advanceTimersByTimeAsync(999)
    expect(await raced).toBe('done')
    await expect(deadline.race(Promise.reject(new Error('broken')), late)).rejects.toThrow('broken')
  })

  test('gives what late gives when the time is over, also when late throws', async () => {
    const deadline = new Deadline(1_000)
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
    const deadline = new Deadline(1_000)
    const asked = vi.fn(late)
    const raced = deadline.race(after(10, 'done'), asked)
    await vi.advanceTimersByTimeAsync(10)
    await raced
    await vi.advanceTimersByTimeAsync(2_000)
    expect(asked).not.toHaveBeenCalled()
  })

  test('takes work that is done already, though it has passed', async () => {
    const deadline = new Deadline(1_000)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await deadline.race(Promise.resolve('done'), late)).toBe('done')
    expect(await deadline.race(never(), late)).toBe('late')
  })

  test('takes work that settles to undefined for done', async () => {
    const deadline = new Deadline(1_000)
    expect(await deadline.race<string | undefined>(Promise.resolve(undefined), late)).toBeUndefined()
  })

  test('races several works, one after the other and at once', async () => {
    const deadline = new Deadline(1_000)
    const first = deadline.race(after(400, 'one'), late)
    const second = deadline.race(after(1_400, 'two'), late)
    await vi.advanceTimersByTimeAsync(400)
    expect(await first).toBe('one')
    await vi.advanceTimersByTimeAsync(600)
    expect(await second).toBe('late')
  })

  test('does not make a rejection unhandled that comes after it', async () => {
    const deadline = new Deadline(1_000)
    const work = pause(2_000).then(() => Promise.reject<string>(new Error('nobody listens any more')))
    const raced = deadline.race(work, late)
    await vi.advanceTimersByTimeAsync(3_000)
    expect(await raced).toBe('late')
  })

  test('leaves no timer when it is cleared', () => {
    const deadline = new Deadline(1_000)
    expect(vi.getTimerCount()).toBe(1)
    deadline.clear()
    deadline.clear()
    expect(vi.getTimerCount()).toBe(0)
  })
})
