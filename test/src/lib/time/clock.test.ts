import { expect, onTestFinished, test, vi } from 'vitest'
import { orderCreated, sign } from '../../../support/deliveries.js'
import { receiving } from '../../../support/receiving.js'

test('a receiver judges a delivery by a date that is faked after it was made', async () => {
  const { receiver } = receiving({ on: { 'order.created': () => {} } })
  const at = Date.UTC(2020, 0, 1)
  const now = vi.spyOn(Date, 'now').mockReturnValue(at)
  onTestFinished(() => now.mockRestore())
  const delivery = await sign(orderCreated(), { timestamp: at / 1000 })
  expect(await receiver.receive({ ...delivery, request: null })).toEqual({ outcome: 'handled' })
  now.mockReturnValue(at + 3_600_000)
  expect(await receiver.receive({ ...delivery, request: null })).toMatchObject({ code: 'timestamp_too_old' })
})
