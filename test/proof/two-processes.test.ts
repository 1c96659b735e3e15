import { expect, test, vi } from 'vitest'
import { PROVED } from '../support/our-stores.js'
import { type Answer, type App, newOrders, type Order, useApps } from '../support/running-apps.js'
import { runs } from '../support/runs.js'
import { seeded, violations } from '../support/storm.js'

// A loaded machine is many times slower than an idle one.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 90_000 })

const EVENTS = runs(50)
/** How often a sender without pauses retries before a test gives up. */
const TRIES = 5_000

const apps = useApps()

interface Delivery {
  readonly order: Order
  /** How often its handler fails at first. */
  readonly failures: number
}

for (const { describe, proof, share = 1 } of PROVED) {
  const { openPlace, stores, inboxes } = proof
  // The last client of a store, and the first of an inbox, so that most clients are met.
  const programs = [
    ...Object.keys(stores)
      .slice(-1)
      .map((client) => ['store', client] as const),
    ...Object.keys(inboxes)
      .slice(0, 1)
      .map((client) => ['inbox', client] as const),
  ]
  const events = Math.ceil(EVENTS * share)

  describe.each(programs)('two processes with a %s on %s', (program, client) => {
    test('have one successful run for each event, however its deliveries are split between them', async () => {
      const place = await openPlace()
      try {
        const settings = { client, ...place }
        const both = await Promise.all([apps.start(program, settings), apps.start(program, settings)])
        const orders = await newOrders(events)
        const random = seeded(4_217)
        const upTo = (count: number): number => Math.floor(random() * count)
        const outcomes = new Set<string>()
        const handledBy = new Set<App>()

        /** Delivers to either process until the answer is 200, as a sender that skips every Retry-After. */
        async function deliver({ order, failures }: Delivery): Promise<Answer> {
          for (let i = 0; i < TRIES; i++) {
            const app = both[upTo(2)] as App
            const answer = await app.deliver(order, { fail: i < failures })
            if (typeof answer === 'string') throw new Error(`A delivery was ${answer}`)
            const { status, outcome, retryAfter } = answer
            outcomes.add(outcome)
            if (outcome === 'handled') handledBy.add(app)
            if (status === 200) return answer
            if (outcome === 'in_flight' && !(Number(retryAfter) >= 1 && Number(retryAfter) <= 30)) {
              throw new Error(`Retry-After was ${retryAfter}`)
            }
          }
          throw new Error(`${order.id} was not done after ${TRIES} tries`)
        }

        const queue = orders.map((order) =>
          Array.from({ length: 4 + upTo(3) }, () => ({ order, failures: upTo(4) === 0 ? 1 + upTo(2) : 0 })),
        )
        const lane = async (): Promise<void> => {
          for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
            const ends = await Promise.all(next.map(deliver))
            expect(ends.map(({ outcome }) => outcome).sort()).toEqual(
              next.map((_, i) => (i < next.length - 1 ? 'duplicate' : 'handled')),
            )
          }
        }
        await Promise.all([lane(), lane(), lane(), lane()])

        const effects = await place.effects()
        expect(violations(orders, effects)).toEqual([])
        expect(effects.size).toBe(events)
        // Otherwise nothing would be proved.
        expect([...outcomes].sort()).toEqual(['duplicate', 'failed', 'handled', 'in_flight'])
        expect(handledBy).toEqual(new Set(both))
      } finally {
        await place.close()
      }
    })
  })
}
