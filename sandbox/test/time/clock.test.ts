import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { deferred } from '../../../test/support/promises.js'
import { VirtualClock } from '../../time/clock.js'
import { durationMs } from '../../time/duration.js'
import { TimerQueue } from '../../time/timer-queue.js'

const START_MS = Date.parse('2031-03-01T09:00:00Z')
const turn = () => new Promise((resolve) => setImmediate(resolve))

let errors: unknown[]
let clock: VirtualClock
let seen: string[]
/** Work that notes its name and its time. */
const note = (name: string) => () => void seen.push(`${name} at ${clock.now() - START_MS}`)
const at = (ms: number, work: () => unknown) => clock.at(START_MS + ms, work)

beforeEach(() => {
  seen = []
  errors = []
  clock = new VirtualClock({
    startMs: START_MS,
    frozen: true,
    onError(error) {
      errors.push(error)
      throw new Error('the listener failed too')
    },
  })
})
afterEach(() => void vi.useRealTimers())

function runningClock(): void {
  vi.useFakeTimers()
  clock = new VirtualClock({ startMs: START_MS })
}

describe('the time', () => {
  test('[N123] runs with the real time unless it is frozen, and never jumps', async () => {
    runningClock()
    vi.advanceTimersByTime(100)
    clock.freeze()
    vi.advanceTimersByTime(10_000)
    expect(clock.now()).toBe(START_MS + 100)
    clock.run()
    vi.advanceTimersByTime(100)
    expect(clock.now()).toBe(START_MS + 200)
    await clock.advanceBy(3_600_000)
    vi.advanceTimersByTime(500)
    expect(clock.now()).toBe(START_MS + 3_600_700)
  })

  test('[N126] does not go back: the refusal names both times, and changes nothing', async () => {
    await expect(clock.advanceTo(START_MS - 1)).rejects.toThrow(
      'Time does not go back: it is 2031-03-01T09:00:00.000Z, and 2031-03-01T08:59:59.999Z is past. To start over, reset.',
    )
    await expect(clock.advanceBy(-1)).rejects.toThrow(RangeError)
    await clock.advanceTo(START_MS)
    expect(clock.now()).toBe(START_MS)

    runningClock()
    await expect(clock.advanceBy(-1)).rejects.toThrow(RangeError)
    vi.advanceTimersByTime(10)
    expect(await clock.advanceBy(1)).toMatchObject({ toMs: START_MS + 11 })
  })
})

describe('a job', () => {
  test('[N124] is awaited before time goes on, with all that it adds', async () => {
    at(10, async () => {
      await turn()
      note('first')()
      at(15, note('added'))
      at(10, note('for the same moment'))
    })
    at(20, note('last'))
    await clock.advanceBy(100)
    expect(seen).toEqual(['first at 10', 'for the same moment at 10', 'added at 15', 'last at 20'])
  })

  // A timer of Node cannot wait for a month.
  test.each([1000, 31 * 24 * 3_600_000])('runs by itself after %d ms of real time', async (ms) => {
    runningClock()
    at(ms, note('job'))
    await vi.advanceTimersByTimeAsync(ms - 1)
    expect(seen).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(seen).toEqual([`job at ${ms}`])
  })

  test('that fails is reported, and the others run, even if the report fails', async () => {
    at(1, () => {
      throw 'thrown'
    })
    at(2, () => Promise.reject('rejected'))
    at(3, note('after'))
    await clock.advanceBy(10)
    expect(errors).toEqual(['thrown', 'rejected'])
    expect(seen).toEqual(['after at 3'])
  })
})

describe('an advance', () => {
  test('waits for work in progress before it begins, and for the work that this begins', async () => {
    const [first, second] = [deferred(), deferred()]
    const work = clock.during(async () => {
      await first.promise
      void clock.during(() => second.promise.then(note('second')))
      note('first')()
    })
    const advance = clock.advanceBy(1000).then(note('advanced'))
    first.resolve()
    await work
    await turn()
    second.resolve()
    await advance
    expect(seen).toEqual(['first at 0', 'second at 0', 'advanced at 1000'])
  })

  test('holds a running clock while it waits for a job', async () => {
    runningClock()
    const hold = deferred()
    at(1000, () => hold.promise.then(note('job')))
    const advance = clock.advanceBy(5000)
    await vi.advanceTimersByTimeAsync(60_000)
    hold.resolve()
    expect(await advance).toMatchObject({ toMs: START_MS + 5000 })
    expect(seen).toEqual(['job at 1000'])
    expect(clock.now()).toBe(START_MS + 5000)
  })

  test('that is broken off ends at the time it has reached, and the job in progress goes on', async () => {
    const [begun, answer] = [deferred(), deferred()]
    at(1000, () => {
      begun.resolve()
      return answer.promise.then(note('first'))
    })
    at(2000, note('second'))
    const advances = [clock.advanceBy(5000), clock.advanceBy(60_000)]
    await begun.promise
    clock.breakOff()
    expect(await Promise.all(advances)).toEqual([
      { fromMs: START_MS, toMs: START_MS + 1000, timers: 1 },
      { fromMs: START_MS + 1000, toMs: START_MS + 1000, timers: 0 },
    ])
    answer.resolve()
    await clock.idle()
    expect(seen).toEqual(['first at 1000'])
    clock.breakOff()
    await clock.advanceBy(1000)
    expect(seen).toEqual(['first at 1000', 'second at 2000'])
  })
})

describe('idle', () => {
  test('waits for all work that is due or in progress, not for later work', async () => {
    at(0, async () => {
      await turn()
      note('first')()
      at(0, () => turn().then(note('second')))
    })
    at(1, note('later'))
    void clock.during(async () => note('during')())
    await clock.idle()
    expect(seen).toEqual(['during at 0', 'first at 0', 'second at 0'])
  })
})

describe('a restart', () => {
  test('sets the time, forgets all jobs, and ends the advances in progress and in wait', async () => {
    const hold = deferred()
    at(10, () => hold.promise)
    at(20, note('job'))
    const advances = [clock.advanceBy(1000), clock.advanceBy(1000), clock.advanceTo(START_MS + 9000)]
    await turn()
    clock.restart({ startMs: START_MS - 5000, frozen: true })
    hold.resolve()
    const ended = await Promise.all(advances)
    expect(ended[0]).toEqual({ fromMs: START_MS, toMs: START_MS - 5000, timers: 1 })
    expect(ended.slice(1).map(({ timers }) => timers)).toEqual([0, 0])
    expect(clock.now()).toBe(START_MS - 5000)
    expect(clock.nextAt()).toBeUndefined()
    await clock.advanceBy(50_000)
    expect(seen).toEqual([])
  })
})

test('a clock that is closed begins no job, by itself or in an advance', async () => {
  runningClock()
  for (const ms of [0, 10]) at(ms, note('job'))
  clock.close()
  await vi.advanceTimersByTimeAsync(1000)
  at(0, note('job'))
  await clock.advanceBy(1000)
  await clock.idle()
  expect(seen).toEqual([])
})

test('[N124] jobs run at the times and in the order of a simple model, whatever is added, cancelled and advanced', async () => {
  const step = fc.oneof(
    fc.record({ add: fc.nat(50) }),
    fc.record({ cancel: fc.nat(20) }),
    fc.record({ advance: fc.nat(30) }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const clock = new VirtualClock({ startMs: START_MS, frozen: true })
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

test('cancelled timers are not kept, and the others fire in their order', () => {
  const queue = new TimerQueue()
  const seen: number[] = []
  const kept: number[] = []
  let largest = 0
  for (let index = 0; index < 10_000; index++) {
    const atMs = (index * 7919) % 50_021
    const timer = queue.add(atMs, () => seen.push(atMs))
    if (index % 50 === 0) kept.push(atMs)
    else timer.cancel()
    largest = Math.max(largest, queue.size)
  }
  expect(largest).toBeLessThan(2000)
  for (const work of queue.take(50_021)) work()
  expect(seen).toEqual(kept.sort((a, b) => a - b))
  expect(queue.size).toBe(0)
})

test.each([
  ['250ms', 250],
  ['1.5h', 5_400_000],
  ['3d', 259_200_000],
  ['2w', 1_209_600_000],
  ['0s', 0],
  [1500, 1500],
])('%j is %d milliseconds', (duration, expected) => {
  expect(durationMs('duration', duration)).toBe(expected)
})

test.each([
  ...['', '72', '-1h', '1 h', '1y', '1h30m', '40000d', '1e3s'],
  ...[Number.NaN, -1, Number.POSITIVE_INFINITY],
])('the duration %j is refused, with examples', (duration) => {
  expect(() => durationMs('advance', duration)).toThrow(
    /^advance must be a span of time such as 90s, 5m, 72h or 3d, of at most 100 years; not /,
  )
})
