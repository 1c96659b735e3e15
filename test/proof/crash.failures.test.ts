import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Mark } from '../support/apps/protocol.js'
import { PROVED_INBOXES } from '../support/our-stores.js'
import type { FailingPlace } from '../support/proof-places.js'
import { newOrders, type Order, useApps } from '../support/running-apps.js'
import { commitMarks, violations, whileInFlight } from '../support/storm.js'

// A loaded machine is many times slower than an idle one.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 90_000 })

const FAILED = { status: 500, outcome: 'failed' }

const apps = useApps()

for (const { describe, proof } of PROVED_INBOXES) {
  describe.each(proof.clients)('apps with an inbox on %s and its failures, killed', (client) => {
    // Of a handler's transaction, and of that in which a failure is kept.
    const marks = commitMarks(client)
    let place: FailingPlace
    beforeAll(async () => {
      place = (await proof.openPlace()) as FailingPlace
    })
    afterAll(() => place.close())

    const start = () => apps.start('failures', { client, ...place })

    async function recordedOf(orders: readonly Order[]): Promise<(string | undefined)[]> {
      const recorded = await place.recorded()
      return orders.map(({ id }) => recorded.get(id))
    }

    test('while a failure is kept, have kept it or not, and a later delivery is handled', async () => {
      // An app for each: of one, only two failures are kept at the same time.
      const [survivor, ...killed] = await Promise.all([start(), ...marks.map(start)])
      const orders = await newOrders(marks.length)
      const stopped = killed.map((app, i) =>
        app.deliver(orders[i] as Order, { fail: true, stopAt: marks[i] as Mark }),
      )
      expect(await Promise.all(stopped)).toEqual(orders.map(() => 'stopped'))
      await Promise.all(killed.map((app) => app.kill()))
      const fate = (mark: Mark) =>
        ({ 'before COMMIT': [undefined], 'after COMMIT': ['failed'] })[mark as string] ?? [
          undefined,
          'failed',
        ]
      const recorded = await recordedOf(orders)
      for (const [i, mark] of marks.entries()) expect(fate(mark), mark).toContain(recorded[i])
      for (const order of orders) {
        expect(await whileInFlight(() => survivor.deliver(order))).toMatchObject({ outcome: 'handled' })
      }
      expect(await recordedOf(orders)).toEqual(orders.map(() => 'handled'))
      expect(violations(orders, await place.effects())).toEqual([])
    })

    test('while a failed event is handled, leave its failure or its record', async () => {
      const [app, survivor] = await Promise.all([start(), start()])
      const at: readonly Mark[] = ['in the handler', 'after the effect', ...marks]
      const orders = await newOrders(at.length)
      for (const order of orders) expect(await app.deliver(order, { fail: true })).toMatchObject(FAILED)
      expect(await recordedOf(orders)).toEqual(orders.map(() => 'failed'))
      const stopped = orders.map((order, i) => app.deliver(order, { stopAt: at[i] as Mark }))
      expect(await Promise.all(stopped)).toEqual(orders.map(() => 'stopped'))
      await app.kill()
      const recorded = await recordedOf(orders)
      for (const [i, mark] of at.entries()) {
        const fates = { 'after COMMIT': ['handled'], 'while COMMIT is under way': ['failed', 'handled'] }
        expect(fates[mark as keyof typeof fates] ?? ['failed'], mark).toContain(recorded[i])
      }
      for (const order of orders) {
        expect(await whileInFlight(() => survivor.deliver(order))).toMatchObject({ status: 200 })
      }
      expect(await recordedOf(orders)).toEqual(orders.map(() => 'handled'))
      expect(violations(orders, await place.effects())).toEqual([])
    })
  })
}
