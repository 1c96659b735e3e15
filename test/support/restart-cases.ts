import type { Outcome } from 'tix-webhooks'
import { expect } from 'vitest'
import type { Stage } from './fault-stage.js'
import { newOrders } from './running-apps.js'

/** Restarts the server in the middle of a handler, while deliveries keep arriving. */
export async function playRestart(stage: Stage, restart: () => Promise<void>): Promise<void> {
  const orders = await newOrders(40)
  let handled = 0
  let restarted: Promise<void> | undefined
  stage.afterEffect(async () => {
    if (++handled === 10) restarted = restart()
    if (handled >= 8 && handled < 14) await restarted
  })

  const isTaken = ({ outcome }: Outcome): boolean => outcome !== 'unavailable' && outcome !== 'failed'
  const queue = [...orders]
  async function lane(): Promise<void> {
    for (let order = queue.shift(); order !== undefined; order = queue.shift()) {
      if (isTaken(await stage.send(order))) continue
      // A sender waits; the others have meanwhile found the server down.
      await restarted
      await stage.until(order, isTaken)
    }
  }
  await Promise.all([lane(), lane(), lane(), lane(), lane(), lane()])
  expect(restarted).toBeDefined()

  let effects = 0
  for (const order of orders) {
    // The process that held it may have been unable to record its end.
    await stage.place.expireLease(order)
    await stage.untilDone(order)
    expect(await stage.send(order)).toEqual({ outcome: 'duplicate' })
    expect(await stage.effects(order)).toBeGreaterThanOrEqual(1)
    effects += await stage.effects(order)
  }
  // A second run was reported, at the latest when the last completion was given up.
  await stage.drain()
  const lost = stage.reports.filter((code) => code === 'not_recorded').length
  expect(effects).toBeLessThanOrEqual(orders.length + lost)
}

/** Restarts the server during a renewal, and lets the old lease expire: no other delivery has come, so it is still ours. */
export async function playRenewal(stage: Stage, restart: () => Promise<void>): Promise<void> {
  const [order] = await newOrders(1)
  if (order === undefined) return
  stage.beforeEffect(async () => {
    stage.proxy.hold()
    await stage.proxy.nextRequest()
    await restart()
    stage.proxy.flush()
    await stage.place.expireLease(order)
  })
  expect(await stage.send(order)).toEqual({ outcome: 'handled' })
  expect(stage.reports).not.toContain('not_recorded')
  stage.beforeEffect(async () => {})
  expect(await stage.send(order)).toEqual({ outcome: 'duplicate' })
  expect(stage.calls(order)).toBe(1)
}
