import { afterEach, describe, expect, test, vi } from 'vitest'
import { orderCreated, sign } from '../../../support/deliveries.js'
import { receiving } from '../../../support/receiving.js'

afterEach(() => vi.useRealTimers())

describe('a date that is faked after the receiver was made', () => {
  const FAKED = new Date('2020-01-01T00:00:00Z')
  const fakeDate = (): void => {
    vi.useFakeTimers({ toFake: ['Date'], now: FAKED })
  }

  test('is the time by which it judges a delivery', async () => {
    const { receiver } = receiving({ on: { 'order.created': () => {} } })
    fakeDate()
    const delivery = await sign(orderCreated(), { timestamp: FAKED.getTime() / 1000 })
    expect(await receiver.receive({ ...delivery, request: null })).toEqual({ outcome: 'handled' })
    vi.setSystemTime(FAKED.getTime() + 3_600_000)
    expect(await receiver.receive({ ...delivery, request: null })).toMatchObject({
      code: 'timestamp_too_old',
    })
  })
})
