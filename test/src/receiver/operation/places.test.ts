import { expect, test, vi } from 'vitest'
import { AlarmClock } from '../../../../src/lib/time/alarm-clock.js'
import { type Place, Places } from '../../../../src/receiver/operation/places.js'
import { advance, useVirtualTime } from '../../../support/virtual-time.js'

useVirtualTime()

const TIMES = { timeoutMs: 10_000, maxRunMs: 300_000 }
/** How long after its arrival a run is over, whatever happens: both times, and that of recording its end. */
const OVER_AFTER_SECONDS = 10 + 300 + 46

/** Places, and the names of those who got one, in order. */
function placesFor(limits: { runs?: number; perAccount?: number }) {
  const places = new Places({ runs: 1, perAccount: Number.POSITIVE_INFINITY, ...limits })
  const seated = new Map<string, Place>()

  function arrive(name: string, account = 'a'): ReturnType<Places['take']> {
    const clock = new AlarmClock(TIMES.timeoutMs)
    const taken = places.take(account, clock, TIMES)
    const note = (place: Place | undefined): void => {
      clock.end()
      if (place !== undefined) seated.set(name, place)
    }
    if (taken instanceof Promise) void taken.then(note)
    else note(taken)
    return taken
  }

  return {
    arrive,
    get seated() {
      return [...seated.keys()]
    },
    async leave(name: string) {
      seated.get(name)?.free()
      await advance(0)
    },
  }
}

test('who finds no place free gets none if its time has passed, though its alarm is late, or lost with the request of a Worker', async () => {
  const queue = placesFor({})
  queue.arrive('runs')
  queue.arrive('gone')
  vi.clearAllTimers()
  await advance(5)
  queue.arrive('waits')
  await queue.leave('runs')
  expect(queue.seated).toEqual(['runs', 'waits'])
  await queue.leave('waits')
  expect(queue.arrive('next')).not.toBeInstanceOf(Promise)
})

test.each([{ runs: 2 }, { runs: Number.POSITIVE_INFINITY, perAccount: 2 }])(
  'a place is free again when its run must be over, though its end never came: of %o',
  async (limits) => {
    const queue = placesFor(limits)
    queue.arrive('lost', 'a')
    queue.arrive('lost too', 'a')
    await advance(OVER_AFTER_SECONDS - 0.001)
    queue.arrive('early', 'a')
    expect(queue.seated).toEqual(['lost', 'lost too'])
    await advance(0.001)
    queue.arrive('next', 'a')
    await advance(0)
    expect(queue.seated.slice(2).sort()).toEqual(['early', 'next'])
    // An end that comes after all gives back nothing.
    await queue.leave('lost')
    await queue.leave('lost too')
    expect(queue.arrive('waits', 'a')).toBeInstanceOf(Promise)
    await queue.leave('early')
  },
)
