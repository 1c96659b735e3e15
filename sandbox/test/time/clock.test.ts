import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { VirtualClock } from '../../time/clock.js'
import { barrier } from '../support/engine-fixture.js'

const START_MS = Date.parse('2031-03-01T09:00:00Z')
const frozenClock = (onError?: (error: unknown) => void) =>
  new VirtualClock({ startMs: START_MS, frozen: true, onError })

afterEach(() => void vi.useRealTimers())

describe('the time', () => {
  test('[N127] [N123] begins at the given time, stands still if it is frozen, and moves by advances alone', async () => {
    vi.useFakeTimers()
    const clock = frozenClock()
    vi.advanceTimersByTime(60_000)
    expect(clock.now()).toBe(START_MS)
    expect(await clock.advanceBy(5000)).toEqual({ fromMs: START_MS, toMs: START_MS + 5000, timers: 0 })
    expect(clock.now()).toBe(START_MS + 5000)
    expect(clock.isFrozen).toBe(true)
  })

  test('[N123] runs with the real time where it is not frozen, and goes on from where an advance took it', async () => {
    vi.useFakeTimers()
    const clock = new VirtualClock({ startMs: START_MS })
    vi.advanceTimersByTime(1000)
    expect(clock.now()).toBe(START_MS + 1000)
    await clock.advanceBy(3_600_000)
    vi.advanceTimersByTime(500)
    expect(clock.now()).toBe(START_MS + 3_601_500)
  })

  test('[N123] can be frozen and let run at any time, without a jump', () => {
    vi.useFakeTimers()
    const clock = new VirtualClock({ startMs: START_MS })
    vi.advanceTimersByTime(100)
    clock.freeze()
    vi.advanceTimersByTime(10_000)
    expect(clock.now()).toBe(START_MS + 100)
    clock.run()
    expect(clock.now()).toBe(START_MS + 100)
    vi.advanceTimersByTime(100)
    expect(clock.now()).toBe(START_MS + 200)
  })

  test.each([Number.NaN, Number.POSITIVE_INFINITY, 8.65e15])('does not begin at %s', (startMs) => {
    expect(() => new VirtualClock({ startMs })).toThrow(/^There is no such time as/)
  })

  test('[N126] does not go back: the refusal names both times, and changes nothing', async () => {
    const clock = frozenClock()
    await expect(clock.advanceTo(START_MS - 1)).rejects.toThrow(
      'Time does not go back: it is 2031-03-01T09:00:00.000Z, and 2031-03-01T08:59:59.999Z is past. To start over, reset.',
    )
    await expect(clock.advanceBy(-1)).rejects.toThrow(RangeError)
    expect(clock.now()).toBe(START_MS)
    await clock.advanceTo(START_MS)
    await clock.advanceBy(1)
    expect(clock.now()).toBe(START_MS + 1)
  })
})

describe('a job', () => {
  test('[N124] runs at its time in an advance, which sees that time, and those of one moment in their order', async () => {
    const clock = frozenClock()
    const seen: string[] = []
    const note = (name: string) => () => seen.push(`${name} at ${clock.now() - START_MS}`)
    clock.at(START_MS + 30, note('c'))
    clock.at(START_MS + 10, note('a'))
    clock.at(START_MS + 10, note('b'))
    clock.at(START_MS + 31, note('d'))
    expect(clock.nextAt()).toBe(START_MS + 10)
    expect(await clock.advanceBy(30)).toMatchObject({ timers: 3 })
    expect(seen).toEqual(['a at 10', 'b at 10', 'c at 30'])
    expect(clock.nextAt()).toBe(START_MS + 31)
  })

  test('[N124] is awaited before time goes on, with all that it adds', async () => {
    const clock = frozenClock()
    const seen: string[] = []
    clock.at(START_MS + 10, async () => {
      await new Promise((resolve) => setImmediate(resolve))
      seen.push(`first at ${clock.now() - START_MS}`)
      clock.at(START_MS + 15, () => seen.push(`added at ${clock.now() - START_MS}`))
      clock.at(START_MS + 10, () => seen.push(`for the same moment at ${clock.now() - START_MS}`))
    })
    clock.at(START_MS + 20, () => seen.push(`last at ${clock.now() - START_MS}`))
    await clock.advanceBy(100)
    expect(seen).toEqual(['first at 10', 'for the same moment at 10', 'added at 15', 'last at 20'])
  })

  test('runs by itself when the real time is there', () => {
    vi.useFakeTimers()
    const clock = new VirtualClock({ startMs: START_MS })
    const seen: number[] = []
    clock.at(START_MS + 1000, () => seen.push(clock.now() - START_MS))
    vi.advanceTimersByTime(999)
    expect(seen).toEqual([])
    return vi.advanceTimersByTimeAsync(1).then(() => expect(seen).toEqual([1000]))
  })

  test('in a month does not run at once: a timer cannot wait that long', async () => {
    vi.useFakeTimers()
    const clock = new VirtualClock({ startMs: START_MS })
    const seen: number[] = []
    const monthMs = 31 * 24 * 3_600_000
    clock.at(START_MS + monthMs, () => seen.push(clock.now() - START_MS))
    await vi.advanceTimersByTimeAsync(monthMs - 1)
    expect(seen).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(seen).toEqual([monthMs])
  })

  test('does not run by itself while time is frozen', async () => {
    vi.useFakeTimers()
    const clock = new VirtualClock({ startMs: START_MS })
    const work = vi.fn()
    clock.at(START_MS + 1000, work)
    clock.freeze()
    await vi.advanceTimersByTimeAsync(5000)
    expect(work).not.toHaveBeenCalled()
    clock.run()
    await vi.advanceTimersByTimeAsync(1000)
    expect(work).toHaveBeenCalledTimes(1)
  })

  test.each([Number.NaN, Number.POSITIVE_INFINITY])('is not due at %s', (atMs) => {
    expect(() => frozenClock().at(atMs, () => {})).toThrow(/^A job is due at a moment of time, not at/)
  })

  test('that throws or rejects is reported to onError, and holds up nothing, even if onError throws', async () => {
    const errors: unknown[] = []
    const clock = frozenClock((error) => {
      errors.push(error)
      throw new Error('and so does who is told')
    })
    const seen: string[] = []
    clock.at(START_MS + 1, () => {
      throw 'thrown'
    })
    clock.at(START_MS + 2, async () => {
      throw 'rejected'
    })
    clock.at(START_MS + 3, () => seen.push('after'))
    await clock.advanceBy(10)
    expect(errors).toEqual(['thrown', 'rejected'])
    expect(seen).toEqual(['after'])
  })
})

describe('an advance', () => {
  test('waits for what is under way before it begins, and for what begins meanwhile', async () => {
    const clock = frozenClock()
    const [first, second] = [barrier(), barrier()]
    const seen: string[] = []
    const under = clock.during(async () => {
      await first.opened
      void clock.during(async () => {
        await second.opened
        seen.push(`second at ${clock.now() - START_MS}`)
      })
      seen.push(`first at ${clock.now() - START_MS}`)
    })
    const advance = clock.advanceBy(1000).then(() => seen.push(`advanced to ${clock.now() - START_MS}`))
    first.open()
    await under
    await new Promise((resolve) => setImmediate(resolve))
    second.open()
    await advance
    expect(seen).toEqual(['first at 0', 'second at 0', 'advanced to 1000'])
  })

  test('waits at its end for what a job has begun beside itself', async () => {
    const clock = frozenClock()
    const hold = barrier()
    const seen: string[] = []
    clock.at(START_MS + 10, () => {
      void clock.during(async () => {
        await hold.opened
        void clock.during(async () => {
          await new Promise((resolve) => setImmediate(resolve))
          seen.push(`under way at ${clock.now() - START_MS}`)
        })
      })
    })
    const advance = clock.advanceBy(1000)
    await new Promise((resolve) => setImmediate(resolve))
    hold.open()
    await advance
    expect(seen).toEqual(['under way at 10'])
  })

  test('[N125] waits for the one before it, which begins where that one ended', async () => {
    const clock = frozenClock()
    clock.at(START_MS + 5, () => new Promise((resolve) => setImmediate(resolve)))
    const advances = await Promise.all([clock.advanceBy(10), clock.advanceToNext(), clock.advanceBy(5)])
    expect(advances.map(({ fromMs, toMs }) => [fromMs - START_MS, toMs - START_MS])).toEqual([
      [0, 10],
      [10, 10],
      [10, 15],
    ])
  })

  test('that is refused holds up none that follow, and lets time run on', async () => {
    vi.useFakeTimers()
    const clock = new VirtualClock({ startMs: START_MS })
    await expect(clock.advanceBy(-1)).rejects.toThrow(RangeError)
    vi.advanceTimersByTime(10)
    expect(clock.now()).toBe(START_MS + 10)
    expect(await clock.advanceBy(1)).toMatchObject({ toMs: START_MS + 11 })
  })

  test('holds the time while it waits, where it else runs', async () => {
    vi.useFakeTimers()
    const clock = new VirtualClock({ startMs: START_MS })
    const hold = barrier()
    const seen: number[] = []
    clock.at(START_MS + 1000, async () => {
      await hold.opened
      seen.push(clock.now() - START_MS)
    })
    const advance = clock.advanceBy(5000)
    await vi.advanceTimersByTimeAsync(60_000)
    hold.open()
    expect(await advance).toMatchObject({ toMs: START_MS + 5000 })
    expect(seen).toEqual([1000])
    expect(clock.now()).toBe(START_MS + 5000)
  })

  test('during which time is frozen or let run ends at its target', async () => {
    const clock = frozenClock()
    clock.at(START_MS + 1, () => clock.run())
    await clock.advanceBy(1000)
    expect(clock.isFrozen).toBe(false)
    expect(clock.now()).toBeGreaterThanOrEqual(START_MS + 1000)
    clock.at(clock.now() + 1, () => clock.freeze())
    const { toMs } = await clock.advanceBy(1000)
    expect(clock.isFrozen).toBe(true)
    expect(clock.now()).toBe(toMs)
  })
})

describe('idle', () => {
  test('resolves when what is due and what is under way is done, whatever is due later', async () => {
    const clock = frozenClock()
    const seen: string[] = []
    clock.at(START_MS, async () => {
      await new Promise((resolve) => setImmediate(resolve))
      seen.push('first')
      clock.at(START_MS, async () => {
        await new Promise((resolve) => setImmediate(resolve))
        seen.push('second')
      })
    })
    clock.at(START_MS + 1, () => seen.push('later'))
    void clock.during(async () => seen.push('during'))
    await clock.idle()
    expect(seen).toEqual(['during', 'first', 'second'])
  })

  test('waits for an advance', async () => {
    const clock = frozenClock()
    const seen: string[] = []
    clock.at(START_MS + 10, () => seen.push('job'))
    void clock.advanceBy(20).then(() => seen.push('advanced'))
    await clock.idle()
    expect(seen).toEqual(['job', 'advanced'])
  })
})

describe('during', () => {
  test('gives what the work gives, and rejects as it does, a throw included', async () => {
    const clock = frozenClock()
    expect(await clock.during(async () => 7)).toBe(7)
    await expect(clock.during(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
    const throwing = () => {
      throw new Error('thrown')
    }
    await expect(clock.during(throwing)).rejects.toThrow('thrown')
    await clock.idle()
  })
})

describe('after a restart', () => {
  test('it is the given time, timers are forgotten, and an advance that is under way ends there', async () => {
    const clock = frozenClock()
    const work = vi.fn()
    const hold = barrier()
    clock.at(START_MS + 10, () => hold.opened)
    clock.at(START_MS + 20, work)
    const advance = clock.advanceBy(1000)
    await new Promise((resolve) => setImmediate(resolve))
    clock.restart({ startMs: START_MS - 5000, frozen: true })
    hold.open()
    expect(await advance).toEqual({ fromMs: START_MS, toMs: START_MS - 5000, timers: 1 })
    expect(clock.now()).toBe(START_MS - 5000)
    expect(clock.nextAt()).toBeUndefined()
    await clock.advanceBy(50_000)
    expect(work).not.toHaveBeenCalled()
  })

  test('an advance that waited for its turn does nothing: it was of the time before', async () => {
    const clock = frozenClock()
    const hold = barrier()
    clock.at(START_MS, () => hold.opened)
    const advances = [clock.advanceBy(1000), clock.advanceBy(1000), clock.advanceTo(START_MS + 9000)]
    clock.restart({ startMs: START_MS, frozen: true })
    hold.open()
    for (const { timers } of await Promise.all(advances)) expect(timers).toBe(0)
    expect(clock.now()).toBe(START_MS)
    await clock.advanceBy(1000)
    expect(clock.now()).toBe(START_MS + 1000)
  })
})

describe('when it is closed', () => {
  test('no job begins any more, by itself or in an advance', async () => {
    vi.useFakeTimers()
    const clock = new VirtualClock({ startMs: START_MS })
    const work = vi.fn()
    clock.at(START_MS, work)
    clock.at(START_MS + 10, work)
    clock.close()
    await vi.advanceTimersByTimeAsync(1000)
    clock.at(START_MS, work)
    await clock.advanceBy(1000)
    await clock.idle()
    expect(work).not.toHaveBeenCalled()
  })
})

test('timers run as a simple model of them says, whatever is added, cancelled and advanced', async () => {
  const step = fc.oneof(
    fc.record({ add: fc.nat(50) }),
    fc.record({ cancel: fc.nat(20) }),
    fc.record({ advance: fc.nat(30) }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const clock = frozenClock()
      const ran: string[] = []
      const timers: { name: number; atMs: number; cancel(): void }[] = []
      let waiting: { name: number; atMs: number }[] = []
      let nowMs = START_MS
      const expected: string[] = []
      for (const one of steps) {
        if ('add' in one) {
          const name = timers.length
          const atMs = nowMs + 1 + one.add
          timers.push({ name, ...clock.at(atMs, () => ran.push(`${name} at ${clock.now()}`)), atMs })
          waiting.push({ name, atMs })
        } else if ('cancel' in one) {
          timers[one.cancel]?.cancel()
          waiting = waiting.filter(({ name }) => name !== one.cancel)
        } else {
          nowMs += one.advance
          const due = waiting.filter(({ atMs }) => atMs <= nowMs)
          due.sort((a, b) => a.atMs - b.atMs || a.name - b.name)
          expected.push(...due.map(({ name, atMs }) => `${name} at ${atMs}`))
          waiting = waiting.filter(({ atMs }) => atMs > nowMs)
          expect(await clock.advanceBy(one.advance)).toMatchObject({ toMs: nowMs, timers: due.length })
        }
      }
      expect(ran).toEqual(expected)
      const next = Math.min(...waiting.map(({ atMs }) => atMs))
      expect(clock.nextAt()).toBe(waiting.length === 0 ? undefined : next)
    }),
  )
})

describe('an advance that is broken off', () => {
  test('ends at the time that is reached, and what it has begun goes on', async () => {
    const clock = frozenClock()
    const begun = barrier()
    const answer = barrier()
    const done: string[] = []
    clock.at(START_MS + 1000, async () => {
      begun.open()
      await answer.opened
      done.push('first')
    })
    clock.at(START_MS + 2000, () => done.push('second'))
    const advance = clock.advanceBy(5000)
    const waiting = clock.advanceBy(60_000)
    await begun.opened
    clock.breakOff()
    expect(await advance).toEqual({ fromMs: START_MS, toMs: START_MS + 1000, timers: 1 })
    expect(await waiting).toEqual({ fromMs: START_MS + 1000, toMs: START_MS + 1000, timers: 0 })
    expect(clock.now()).toBe(START_MS + 1000)
    answer.open()
    await clock.idle()
    expect(done).toEqual(['first'])
    await clock.advanceBy(1000)
    expect(done).toEqual(['first', 'second'])
  })

  test('does not affect the next one if none is in progress', async () => {
    const clock = frozenClock()
    clock.breakOff()
    expect(await clock.advanceBy(1000)).toEqual({ fromMs: START_MS, toMs: START_MS + 1000, timers: 0 })
  })
})
