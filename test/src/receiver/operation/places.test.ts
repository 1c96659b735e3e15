import { expect, test, vi } from 'vitest'
import { AlarmClock } from '../../../../src/lib/time/alarm-clock.js'
import { type Place, Places } from '../../../../src/receiver/operation/places.js'
import { advance, useVirtualTime } from '../../../support/virtual-time.js'

useVirtualTime()

const TIMES = { timeoutMs: 10_000, maxRunMs: 300_000 }

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
