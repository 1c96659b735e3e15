import type { Outcome } from 'tix-webhooks'
import { expect } from 'vitest'
import type { FaultFixture } from './fault-fixture.js'
import { newOrders } from './running-apps.js'

/** Restarts the server in the middle of a handler, while deliveries keep arriving. */
export async function playRestart(fixture: FaultFixture, restart: () => Promise<void>): Promise<void> {
  const orders = await newOrders(40)
  let handled = 0
  let restarted: Promise<void> | undefined
  fixture.afterEffect(async () => {
    if (++handled === 10) restarted = restart()
    if (handled >= 8 && handled < 14) await restarted
  })

  const isTaken = ({ outcome }: Outcome): boolean => outcome !== 'unavailable' && outcome !== 'failed'
  const queue = [...orders]
  async function lane(): Promise<void> {
    for (let order = queue.shift(); order !== undefined; order = queue.shift()) {
      if (isTaken(await fixture.send(order))) continue
      // A sender waits; the others have meanwhile found the server down.
      await restarted
      await fixture.until(order, isTaken)
    }
  }
  await Promise.all([lane(), lane(), lane(), lane(), lane(), lane()])
  expect(restarted).toBeDefined()

  let effects = 0
  for (const order of orders) {
    // The process that held it may have been unable to record its end.
    await fixture.place.expireLease(order)
    await fixture.untilDone(order)
    expect(await fixture.send(order)).toEqual({ outcome: 'duplicate' })
    expect(await fixture.effects(order)).toBeGreaterThanOrEqual(1)
    effects += await fixture.effects(order)
  }
  // A second run was reported, at the latest when the last completion was given up.
  await fixture.drain()
  const lost = fixture.reports.filter((code) => code === 'not_recorded').length
  expect(effects).toBeLessThanOrEqual(orders.length + lost)
}

/** Restarts the server during a renewal, and lets the old lease expire: no other delivery has come, so it is still ours. */
export async function playRenewal(fixture: FaultFixture, restart: () => Promise<void>): Promise<void> {
  const [order] = await newOrders(1)
  if (order === undefined) return
  fixture.beforeEffect(async () => {
    fixture.proxy.hold()
    await fixture.proxy.nextRequest()
    await restart()
    fixture.proxy.flush()
    await fixture.place.expireLease(order)
  })
  expect(await fixture.send(order)).toEqual({ outcome: 'handled' })
  expect(fixture.reports).not.toContain('not_recorded')
  fixture.beforeEffect(async () => {})
  expect(await fixture.send(order)).toEqual({ outcome: 'duplicate' })
  expect(fixture.calls(order)).toBe(1)
}
