import fc from 'fast-check'
import * as arbitraries from 'tix-webhooks/testing/fast-check'
import { describe, expect, test } from 'vitest'
import { runs } from '../../support/runs.js'

const { eventsOf } = arbitraries

const ALL = Object.entries(arbitraries).flatMap(([name, make]): [string, fc.Arbitrary<unknown>][] =>
  make === eventsOf
    ? [
        [name, eventsOf('event.rescheduled')],
        ['orders', eventsOf('order.created')],
      ]
    : [[name, (make as () => fc.Arbitrary<unknown>)()]],
)

/** How a property is shrunk depends on the seed. */
const SEEDS = Array.from({ length: runs(3) }, (_, index) => index + 1)

/** The counterexample that fast-check reports for a fault. */
function shrunk<Value>(arbitrary: fc.Arbitrary<Value>, isFault: (value: Value) => boolean, seed = 7): Value {
  const { counterexample } = fc.check(
    fc.property(arbitrary, (value) => !isFault(value)),
    { seed, numRuns: 2000 },
  )
  if (counterexample === null) throw new Error('nothing of the arbitrary has the fault')
  return counterexample[0]
}

test.each(ALL)('%s gives the same values for the same seed', (_, arbitrary) => {
  const values = () => fc.sample(arbitrary, { seed: 1, numRuns: 50 })
  expect(values()).toEqual(values())
})

describe('what fails is shrunk to what is small', () => {
  // Longer are those of the object that tickets are sold for, which has seventeen fields.
  const LIMITS: Readonly<Record<string, number>> = {
    anyEvents: 750,
    eventsOf: 750,
    knownEvents: 750,
    lifecycleEvents: 750,
  }

  test.each(ALL)('%s', (name, arbitrary) => {
    for (const seed of SEEDS) {
      const least = fc.stringify(shrunk(arbitrary, () => true, seed))
      expect(least.length, least).toBeLessThan(name === 'hostileHeaders' ? 5000 : (LIMITS[name] ?? 200))
    }
  })

  test('an order, to what it fails for', () => {
    const at = { type: 'order.created', created_at: '2026-05-17T14:00:00Z' }
    const free = { id: 'ord_0', total_cents: 0, buyer_email: 'a@example.com' }
    expect(shrunk(eventsOf('order.created'), () => true)).toEqual({
      ...at,
      data: { order: free, tickets: [] },
    })
    expect(shrunk(eventsOf('order.created'), ({ data }) => data.order.total_cents > 999)).toEqual({
      ...at,
      data: { order: { ...free, total_cents: 1000 }, tickets: [] },
    })
    const { tickets, order } = shrunk(eventsOf('order.created'), ({ data }) => data.tickets.length > 2).data
    expect(order).toEqual(free)
    expect(tickets.map(({ tier }) => tier)).toEqual(Array(3).fill('general admission'))
  })
})
