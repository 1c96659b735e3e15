import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Mark } from '../support/apps/protocol.js'
import { PROVED_INBOXES } from '../support/our-stores.js'
import type { EventsPlace } from '../support/proof-places.js'
import { type App, newOrders, type Order, useApps } from '../support/running-apps.js'
import { runs } from '../support/runs.js'
import { commitMarks, seeded, violations, whileInFlight } from '../support/storm.js'

const FAILED = { status: 500, outcome: 'failed' }
const DUPLICATE = { status: 200, outcome: 'duplicate' }

const EVENTS = runs(40)
const FAULTS = 12

const apps = useApps()

for (const { describe, proof } of PROVED_INBOXES) {
  describe.each(proof.clients)('apps with an inbox on %s, killed', (client) => {
    // Of a handler's transaction, and of that in which a failure is kept.
    const marks = commitMarks(client)
    let place: EventsPlace
    beforeAll(async () => {
      place = (await proof.openPlace()) as EventsPlace
    })
    afterAll(() => place.close())

    const start = () => apps.start({ program: 'inbox', client, ...place })

    async function recordedOf(orders: readonly Order[]): Promise<(string | undefined)[]> {
      const recorded = await place.recorded()
      return orders.map(({ id }) => recorded.get(id))
    }

    test('while a failure is kept, have kept it or not, and a later delivery is handled', async () => {
      // An app for each: of one, only two failures are kept at the same time.
      const [survivor, ...killed] = await Promise.all([start(), ...marks.map(() => start())])
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

    test.each([undefined, 'failed'])(
      'hold an event that was %s before as long as they live, and leave all of it or nothing',
      async (before) => {
        const [app, survivor] = await Promise.all([start(), start()])
        const at: readonly Mark[] = ['in the handler', 'after the effect', ...marks]
        const orders = await newOrders(at.length)
        if (before !== undefined)
          for (const order of orders) expect(await app.deliver(order, { fail: true })).toMatchObject(FAILED)
        expect(await recordedOf(orders)).toEqual(orders.map(() => before))
        const stopped = orders.map((order, i) => app.deliver(order, { stopAt: at[i] as Mark }))
        expect(await Promise.all(stopped)).toEqual(orders.map(() => 'stopped'))
        for (const [i, order] of orders.entries()) {
          const inFlight = { status: 503, outcome: 'in_flight', retryAfter: 5 }
          const expected = at[i] === 'after COMMIT' ? DUPLICATE : inFlight
          if (at[i] !== 'while COMMIT is under way')
            expect(await survivor.deliver(order), at[i]).toEqual(expected)
        }
        await app.kill()
        const recorded = await recordedOf(orders)
        for (const [i, mark] of at.entries()) {
          const fates = { 'after COMMIT': ['handled'], 'while COMMIT is under way': [before, 'handled'] }
          expect(fates[mark as keyof typeof fates] ?? [before], mark).toContain(recorded[i])
        }
        for (const order of orders) {
          expect(await whileInFlight(() => survivor.deliver(order))).toMatchObject({ status: 200 })
        }
        expect(await recordedOf(orders)).toEqual(orders.map(() => 'handled'))
        expect(violations(orders, await place.effects())).toEqual([])
      },
    )

    test('and terminated at random, lose none, and keep none that is handled', async () => {
      const running = await Promise.all([start(), start(), start()])
      const orders: Order[] = []
      const random = seeded(20_261_124)
      const upTo = (count: number): number => Math.floor(random() * count)
      const outcomes = new Set<string>()
      let faults = 0

      /** Delivers to any app until the answer is 200. A sender that is alone knows whether the failure is kept. */
      async function deliver(order: Order, failures: number, isAlone: boolean): Promise<void> {
        for (let attempt = 0; ; attempt++) {
          const app = running[upTo(running.length)] as App
          const end = await app.deliver(order, { fail: attempt < failures })
          if (typeof end === 'string') {
            await pause(10)
            continue
          }
          outcomes.add(end.outcome)
          if (end.status === 200) return
          if (isAlone && end.outcome === 'failed' && end.notKept === undefined)
            expect(await recordedOf([order])).toEqual(['failed'])
        }
      }

      async function afflict(): Promise<void> {
        while (faults < FAULTS) {
          if (faults % 3 === 0) {
            const killed = running.splice(upTo(running.length), 1, await start())
            await killed[0]?.kill()
          } else await place.terminate()
          expect([...(await place.recorded()).values()]).not.toContain('handled and failed')
          faults += 1
          await pause(20)
        }
      }

      async function lane(): Promise<void> {
        while (orders.length < EVENTS || faults < FAULTS) {
          const [order] = (await newOrders(1)) as [Order]
          const senders = 1 + (orders.push(order) % 3)
          const failures = upTo(4)
          await Promise.all(Array.from({ length: senders }, () => deliver(order, failures, senders === 1)))
        }
      }
      await Promise.all([lane(), lane(), lane(), lane(), afflict()])

      expect(await recordedOf(orders)).toEqual(orders.map(() => 'handled'))
      expect(violations(orders, await place.effects())).toEqual([])
      // No process ended because it lost a connection.
      for (const app of running) expect(await app.deliver(orders[0] as Order)).not.toBe('cut off')
      // Otherwise nothing would be proved.
      expect([...outcomes]).toEqual(expect.arrayContaining(['handled', 'duplicate', 'failed', 'in_flight']))
    })
  })
}
