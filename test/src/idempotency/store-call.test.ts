import { describe, expect, test, vi } from 'vitest'
import { orderCreated } from '../../support/deliveries.js'
import { deferred } from '../../support/promises.js'
import { receiving } from '../../support/receiving.js'
import { advance, useVirtualTime } from '../../support/virtual-time.js'

useVirtualTime()

describe('a store', () => {
  test('by default fails as misconfigured where the clock that was given does', async () => {
    const handler = vi.fn()
    const on = { 'order.created': handler }
    let readings = 0
    const now = () => {
      readings += 1
      return readings === 1 ? Date.now() : Number.NaN
    }
    const { send } = receiving({ now, on })
    expect(await send(orderCreated())).toMatchObject({ outcome: 'misconfigured' })
    expect(handler).not.toHaveBeenCalled()
    await advance(2)
  })

  test.each([['a month', 30 * 86_400_000]])(
    'by default keeps its leases when the clock of the receiver steps forward by %s',
    async (_, stepMs) => {
      let steppedMs = 0
      const now = (): number => Date.now() + steppedMs
      const work = deferred()
      const handler = vi.fn(() => work.promise)
      const { send } = receiving({
        now,
        toleranceSeconds: 1e8,
        retentionSeconds: 1e8,
        on: { 'order.created': handler },
      })
      const order = orderCreated()
      const first = send(order)
      await advance(0)
      steppedMs = stepMs
      expect(await send(order)).toMatchObject({ outcome: 'in_flight' })
      work.resolve()
      expect(await first).toEqual({ outcome: 'handled' })
      expect(await send(order)).toEqual({ outcome: 'duplicate' })
      expect(handler).toHaveBeenCalledOnce()
    },
  )
})
