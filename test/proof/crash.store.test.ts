import { expect, test } from 'vitest'
import type { Mark } from '../support/apps/protocol.js'
import { PROVED } from '../support/our-stores.js'
import { type End, newOrder, useApps } from '../support/running-apps.js'

/** The points at which a delivery is killed, and the attempts that have had their effect in the end. */
const STOPS: readonly (readonly [mark: Mark, effects: readonly string[]])[] = [
  ['after the claim', ['2']],
  ['in the handler', ['2']],
  ['after the effect', ['1', '2']],
  ['before completing', ['1', '2']],
  ['after completing', ['1']],
]

const HANDLED = { status: 200, outcome: 'handled' }
const DUPLICATE = { status: 200, outcome: 'duplicate' }
const isSoon = (seconds: number): boolean => seconds >= 1 && seconds <= 30

const apps = useApps()

for (const { describe, proof } of PROVED) {
  describe.each(proof.clients)('apps with a store on %s', (client) => {
    test('lose no event that one of them was handling when it was killed, and run none again that it had completed', async () => {
      const place = await proof.openPlace()
      const settings = { program: 'store' as const, client, ...place }
      try {
        const [app, survivor] = await Promise.all([apps.start(settings), apps.start(settings)])
        const stops = await Promise.all(
          STOPS.map(async ([stopAt, effects]) => ({ order: await newOrder(), stopAt, effects })),
        )
        const everyOrder = (): Promise<End[]> =>
          Promise.all(stops.map(({ order }) => survivor.deliver(order)))
        const stopped = stops.map(({ order, stopAt }) => app.deliver(order, { stopAt }))
        expect(await Promise.all(stopped)).toEqual(stops.map(() => 'stopped'))
        await app.kill()

        const inFlight = { status: 503, outcome: 'in_flight', retryAfter: expect.toSatisfy(isSoon) }
        expect(await everyOrder()).toEqual([inFlight, inFlight, inFlight, inFlight, DUPLICATE])

        await Promise.all(stops.map(({ order }) => place.expireLease(order)))
        expect(await everyOrder()).toEqual([HANDLED, HANDLED, HANDLED, HANDLED, DUPLICATE])
        expect(await everyOrder()).toEqual(stops.map(() => DUPLICATE))

        const effects = await place.effects()
        expect(stops.map(({ order }) => effects.get(order.id))).toEqual(stops.map((stop) => stop.effects))
      } finally {
        await place.close()
      }
    })
  })
}
