import { afterEach, describe, expect, test, vi } from 'vitest'
import { orderCreated } from '../../../support/deliveries.js'
import { begin } from '../../../support/delivering.js'
import { deferred, never } from '../../../support/promises.js'
import { receivingWith, scriptedInbox } from '../../../support/scripted-inbox.js'
import { jump } from '../../../support/time-jumps.js'
import { advance, sleep, useVirtualTime } from '../../../support/virtual-time.js'

useVirtualTime()

afterEach(() => {
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

describe('where the event loop is blocked', () => {
  test('by the handler, past the deadline, the delivery is answered at once, and no timer is set to below 0', async () => {
    const set = vi.spyOn(globalThis, 'setTimeout')
    const handler = () => {
      jump(100)
      return never()
    }
    const options = { timeoutSeconds: 10, maxRunSeconds: 300, leaseSeconds: 60 }
    const { answered, codes } = await begin({}, { ...options, on: { 'order.created': handler } })
    await advance(0.001)
    expect(answered()).toMatchObject({ code: 'timed_out' })
    expect(set.mock.calls.map(([, ms]) => ms).filter((ms = 0) => !(ms >= 0))).toEqual([])
    set.mockRestore()
    expect(codes()).toEqual(['timed_out'])
    await advance(200)
    expect(codes()).toEqual(['timed_out', 'given_up'])
  })

  test.each([
    ['the deadline comes first', { timeoutSeconds: 10, maxRunSeconds: 20 }, ['timed_out', 'given_up']],
    [
      'the deadline comes first, of two at one time',
      { timeoutSeconds: 10, maxRunSeconds: 10 },
      ['timed_out', 'given_up'],
    ],
    [
      'the end of the run comes first, and is the end',
      { timeoutSeconds: 20, maxRunSeconds: 10 },
      ['given_up'],
    ],
  ])('past both limits of a delivery, %s', async (_, limits, expected) => {
    const handler = () => {
      const { promise } = deferred()
      setTimeout(() => jump(100), 1)
      return promise
    }
    const { answered, codes, receiver } = await begin({}, { ...limits, on: { 'order.created': handler } })
    await advance(0.001)
    await advance(20)
    expect(answered()).toMatchObject({ code: expected[0] })
    expect(codes().sort()).toEqual([...expected].sort())
    await receiver.drain()
  })

  test('for less than half a millisecond, no alarm is early by a whole one', async () => {
    const handler = () => {
      jump(0.000_4)
      return never()
    }
    const { answered } = await begin(
      {},
      { timeoutSeconds: 10, maxRunSeconds: 20, on: { 'order.created': handler } },
    )
    await advance(9.999)
    expect(answered()).toBeUndefined()
    await advance(0.001)
    expect(answered()).toMatchObject({ code: 'timed_out' })
    await advance(11)
  })
})

test('a timer that fires a moment before the clock says so is believed: no handler is started any more', async () => {
  const handler = vi.fn()
  const { inbox, ends } = scriptedInbox(async (_, work) => {
    // Set after the timer of the deadline, for the same time.
    await sleep(0.001)
    await sleep(9.999)
    return work({})
  })
  const { send } = receivingWith(inbox, { on: { 'order.created': handler } })
  const outcome = send(orderCreated())
  await advance(0)
  // Timers count whole milliseconds, and the clock fractions of them.
  jump(-0.0003)
  await advance(10)
  expect(await outcome).toMatchObject({ outcome: 'unavailable', code: 'store_unavailable' })
  expect(handler).not.toHaveBeenCalled()
  expect(ends).toEqual([{ rejected: expect.objectContaining({ code: 'store_unavailable' }) }])
})
