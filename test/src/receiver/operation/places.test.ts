import { describe, expect, test, vi } from 'vitest'
import { AlarmClock } from '../../../../src/lib/time/alarm-clock.js'
import { type Place, Places } from '../../../../src/receiver/operation/places.js'
import { deferred } from '../../../support/promises.js'
import { advance, useVirtualTime } from '../../../support/virtual-time.js'

useVirtualTime()

const TIMES = { timeoutMs: 10_000, maxRunMs: 300_000 }
/** How long after its arrival a run is over, whatever happens: both times, and that of recording its end. */
const OVER_AFTER_SECONDS = 10 + 300 + 46

/** Places, and the names of those who got one, in order. */
function placesFor(limits: { runs?: number; perAccount?: number }) {
  const places = new Places({ runs: 1, perAccount: Number.POSITIVE_INFINITY, ...limits })
  const seated = new Map<string, Place>()
  const refused: string[] = []

  function arrive(name: string, account = 'a'): ReturnType<Places['take']> {
    const clock = new AlarmClock(TIMES.timeoutMs)
    const taken = places.take(account, clock, TIMES)
    const note = (place: Place | undefined): void => {
      clock.end()
      if (place === undefined) refused.push(name)
      else seated.set(name, place)
    }
    if (taken instanceof Promise) void taken.then(note)
    else note(taken)
    return taken
  }

  return {
    arrive,
    refused,
    get seated() {
      return [...seated.keys()]
    },
    async leave(name: string) {
      seated.get(name)?.free()
      await advance(0)
    },
    placeOf: (name: string) => seated.get(name) as Place,
  }
}

test('a free place is taken at once, without a promise', () => {
  const { arrive } = placesFor({ runs: 2 })
  expect(arrive('first')).not.toBeInstanceOf(Promise)
  expect(arrive('second')).not.toBeInstanceOf(Promise)
})

describe('who finds no place free', () => {
  test('waits: first come, first served', async () => {
    const queue = placesFor({})
    for (const name of ['first', 'second', 'third']) queue.arrive(name)
    expect(queue.seated).toEqual(['first'])
    await queue.leave('first')
    expect(queue.seated).toEqual(['first', 'second'])
    await queue.leave('second')
    expect(queue.seated).toEqual(['first', 'second', 'third'])
    await queue.leave('third')
    expect(queue.arrive('fourth')).not.toBeInstanceOf(Promise)
  })

  test('waits for half of timeoutSeconds after its arrival, and then gets none', async () => {
    const queue = placesFor({})
    queue.arrive('runs')
    queue.arrive('waits')
    await advance(4.999)
    expect(queue.refused).toEqual([])
    await advance(0.001)
    expect(queue.refused).toEqual(['waits'])
    await queue.leave('runs')
    expect(queue.seated).toEqual(['runs'])
    expect(queue.arrive('next')).not.toBeInstanceOf(Promise)
  })

  test('does not wait if that time has passed, but takes a place that is free', async () => {
    const places = new Places({ runs: 1, perAccount: Number.POSITIVE_INFINITY })
    const late = new AlarmClock(TIMES.timeoutMs)
    await advance(5)
    const place = places.take('a', late, TIMES)
    expect(place).toMatchObject({ guest: { account: 'a' } })
    expect(places.take('a', late, TIMES)).toBeUndefined()
  })

  test('gets none if its time has passed, though its alarm is late, or lost with the request of a Worker', async () => {
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
})

describe('accounts', () => {
  test('take turns, so that one with many deliveries does not hold up the others', async () => {
    const queue = placesFor({})
    for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'c2']) queue.arrive(name, name[0])
    for (const name of ['a1', 'a2', 'b1', 'c1', 'a3', 'c2', 'a4']) {
      expect(queue.seated.at(-1)).toBe(name)
      await queue.leave(name)
    }
    expect(queue.refused).toEqual([])
  })

  test('one that returns waits behind those that have waited since', async () => {
    const queue = placesFor({})
    for (const name of ['a1', 'a2', 'b1', 'c1']) queue.arrive(name, name[0])
    await queue.leave('a1')
    queue.arrive('a3', 'a')
    for (const name of ['a2', 'b1', 'c1', 'a3']) {
      expect(queue.seated.at(-1)).toBe(name)
      await queue.leave(name)
    }
  })

  test('have at most perAccount places each: one that has them waits, and the others pass', async () => {
    const queue = placesFor({ runs: 3, perAccount: 2 })
    for (const name of ['a1', 'a2', 'a3', 'b1', 'b2']) queue.arrive(name, name[0])
    expect(queue.seated).toEqual(['a1', 'a2', 'b1'])
    await queue.leave('b1')
    expect(queue.seated.at(-1)).toBe('b2')
    await queue.leave('a1')
    expect(queue.seated.at(-1)).toBe('a3')
  })

  test('one that has to be passed over keeps its turn', async () => {
    const queue = placesFor({ runs: 2, perAccount: 1 })
    for (const name of ['a1', 'b1', 'a2', 'b2', 'c1']) queue.arrive(name, name[0])
    await queue.leave('b1')
    expect(queue.seated.at(-1)).toBe('b2')
    await queue.leave('a1')
    expect(queue.seated.at(-1)).toBe('a2')
    await queue.leave('b2')
    expect(queue.seated.at(-1)).toBe('c1')
  })
})

describe('a place', () => {
  test('is kept until all work that uses it has settled, whether it resolves or rejects', async () => {
    const queue = placesFor({})
    queue.arrive('runs')
    queue.arrive('waits')
    const [rollback, release] = [deferred(), deferred()]
    queue.placeOf('runs').keepUntil(rollback.promise)
    queue.placeOf('runs').keepUntil(release.promise)
    rollback.reject(new Error('no connection'))
    await advance(0)
    expect(queue.seated).toEqual(['runs'])
    release.resolve()
    await advance(0)
    expect(queue.seated).toEqual(['runs', 'waits'])
    // A second end gives back nothing.
    queue.arrive('waits too')
    await queue.leave('runs')
    expect(queue.seated).toEqual(['runs', 'waits'])
    await queue.leave('waits')
  })

  test.each([
    ['all of them', { runs: 2 }],
    ['those of an account', { runs: 9, perAccount: 2 }],
    ['those of an account, without a limit for all', { runs: Number.POSITIVE_INFINITY, perAccount: 2 }],
  ])('is free again when its run must be over, though its end never came: %s', async (_, limits) => {
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
  })
})
