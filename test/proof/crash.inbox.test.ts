import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Mark } from '../support/apps/protocol.js'
import { PROVED_INBOXES } from '../support/our-stores.js'
import type { Place } from '../support/proof-places.js'
import { newOrders, type Program, useApps } from '../support/running-apps.js'
import { runs } from '../support/runs.js'
import { commitMarks, type StormPlan, storm, violations, whileInFlight } from '../support/storm.js'

// A loaded machine is many times slower than an idle one.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 90_000 })

const IN_TRANSACTION: readonly Mark[] = ['in the handler', 'after the effect', 'before COMMIT']
const apps = useApps()

for (const { entry, describe, proof, share = 1 } of PROVED_INBOXES) {
  const { clients } = proof
  describe(`apps with an inbox on ${entry}`, () => {
    let place: Place
    beforeAll(async () => {
      place = await proof.openPlace()
    })
    afterAll(() => place.close())

    const start = (program: Program, client: string) => apps.start(program, { client, ...place })

    test.each(clients)(
      'on %s hold an event as long as they live, and leave nothing of it when they are killed before COMMIT',
      async (client) => {
        const [app, survivor] = await Promise.all([start('inbox', client), start('inbox', client)])
        const orders = await newOrders(IN_TRANSACTION.length)
        const stopped = orders.map((order, i) => app.deliver(order, { stopAt: IN_TRANSACTION[i] as Mark }))
        expect(await Promise.all(stopped)).toEqual(orders.map(() => 'stopped'))
        for (const order of orders) {
          expect(await survivor.deliver(order)).toEqual({ status: 503, outcome: 'in_flight', retryAfter: 5 })
        }
        await app.kill()
        for (const order of orders) {
          expect(await whileInFlight(() => survivor.deliver(order))).toMatchObject({ outcome: 'handled' })
        }
        expect(violations(orders, await place.effects())).toEqual([])
      },
    )

    test.each(clients)(
      'on %s that are killed after COMMIT have handled the event, though no sender got an answer',
      async (client) => {
        const [app, survivor] = await Promise.all([start('inbox', client), start('inbox', client)])
        const orders = await newOrders(1)
        for (const order of orders) {
          expect(await app.deliver(order, { stopAt: 'after COMMIT' })).toBe('stopped')
          expect(await survivor.deliver(order)).toMatchObject({ status: 200, outcome: 'duplicate' })
          await app.kill()
          expect(await survivor.deliver(order)).toMatchObject({ status: 200, outcome: 'duplicate' })
        }
        expect(violations(orders, await place.effects())).toEqual([])
      },
    )

    /** Runs a storm over apps of one kind, and returns the violations found after it. */
    async function stormOver(
      program: Program,
      client: string,
      plan: Pick<StormPlan, 'orders' | 'undone' | 'done' | 'afterKill'>,
    ) {
      const report = await storm({
        ...plan,
        seed: 20_260_517,
        start: () => start(program, client),
        survivor: await start(program, client),
      })
      return { ...report, violations: violations(plan.orders, await place.effects()) }
    }

    // Where commits take long, crash.failures.test.ts kills apps at each of these marks.
    test.runIf(share === 1).each(clients)(
      'on %s have each effect exactly once, however many of them are killed',
      async (client) => {
        const [undone, done] = [IN_TRANSACTION, commitMarks(client).slice(1)]
        const orders = await newOrders(runs(4))
        const report = await stormOver('inbox', client, { orders, undone, done, afterKill: async () => {} })
        expect(report).toEqual({
          kills: 2 * orders.length,
          killedAt: new Set([...undone, ...done]),
          violations: [],
        })
      },
    )

    // It tests the test, for which one server will do.
    test.runIf(share === 1)(
      'would be seen to double effects, were the effect and the record not in one transaction',
      async () => {
        const report = await stormOver('store', clients[0] as string, {
          orders: await newOrders(3),
          undone: ['after the claim', 'after the effect', 'before completing'],
          done: ['after completing'],
          afterKill: place.expireLease,
        })
        expect(report.violations).toContainEqual(expect.stringMatching(/had [23] effects/))
      },
    )
  })
}
