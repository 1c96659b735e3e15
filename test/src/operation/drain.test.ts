import { describe, expect, test, vi } from 'vitest'
import { Drain } from '../../../src/operation/drain.js'
import { orderCreated, sign } from '../../support/deliveries.js'
import { deferred, never, watch } from '../../support/promises.js'
import { receiving, storeWith } from '../../support/receiving.js'
import { jump } from '../../support/time-jumps.js'
import { advance, useVirtualTime } from '../../support/virtual-time.js'

useVirtualTime()

/** Removes all timers that were set since then. */
function losingTimers() {
  const timers = vi.spyOn(globalThis, 'setTimeout')
  return {
    lose() {
      for (const { value } of timers.mock.results) clearTimeout(value as NodeJS.Timeout)
      timers.mockRestore()
    },
  }
}

describe('drain', () => {
  test('waits for a handler that has blocked the process past its deadline, and goes on', async () => {
    const work = deferred()
    const handler = () => {
      jump(60)
      return work.promise
    }
    const { receiver } = receiving({ on: { 'order.created': handler } })
    const delivery = await sign(orderCreated())
    const first = receiver.receive({ ...delivery, request: null })
    // In the same turn of the event loop, before any timer.
    const drained = watch(receiver.drain())
    await advance(2)
    expect(await first).toMatchObject({ outcome: 'timed_out' })
    expect(drained.isResolved).toBe(false)
    work.resolve()
    await advance(0)
    expect(drained.isResolved).toBe(true)
  })

  // On a Worker, the timers of a request are lost with it.
  test.each<[string, goneAt: number, lastsUntil: number]>([
    ['a handler that never settles', 0, 11],
    ['a handler that never settles and whose sender has been answered', 10, 31],
  ])('waits for %s no longer than it may last, though its timers are gone', async (_, goneAt, lastsUntil) => {
    const limits = { leaseSeconds: 120, maxRunSeconds: 30 }
    const { receiver, send } = receiving({ on: { 'order.created': () => never() }, ...limits })
    const losing = losingTimers()
    void send(orderCreated())
    await advance(goneAt)
    losing.lose()
    const drained = watch(receiver.drain())
    for (let second = goneAt; second < lastsUntil; second++) {
      expect(drained.isResolved).toBe(false)
      expect(await send(orderCreated())).toMatchObject({ code: 'draining' })
      await advance(1)
    }
    expect(drained.isResolved).toBe(true)
  })

  // The store refuses the record, which is retried for 46 s at most.
  test('waits for a record that is tried again no longer than that may last, though its timers are gone', async () => {
    const { store, namespace } = storeWith({ complete: () => Promise.reject(new Error('ECONNREFUSED')) })
    const next: (() => unknown)[] = [() => {}, never]
    const on = { 'order.created': () => next.shift()?.() }
    const limits = { timeoutSeconds: 5, maxRunSeconds: 10 }
    const { receiver, send } = receiving({ store, namespace, on, ...limits })
    const losing = losingTimers()
    void send(orderCreated())
    await advance(1)
    // A handler that may run for less.
    void send(orderCreated())
    await advance(5.5)
    losing.lose()
    const drained = watch(receiver.drain())
    await advance(1 + 46 + 0.999 - 6.5)
    expect(drained.isResolved).toBe(false)
    await advance(0.001)
    expect(drained.isResolved).toBe(true)
  })

  test('sets no timer for longer than one can be set, which would fire at once', async () => {
    const work = deferred()
    const longest = 2_147_483
    const limits = { maxRunSeconds: longest, timeoutSeconds: longest, leaseSeconds: longest }
    const { receiver, send } = receiving({
      ...limits,
      retentionSeconds: longest,
      on: { 'order.created': () => work.promise },
    })
    const set = vi.spyOn(globalThis, 'setTimeout')
    void send(orderCreated())
    await advance(0)
    const drained = watch(receiver.drain())
    await advance(0)
    expect(set).toHaveBeenCalled()
    for (const [, ms] of set.mock.calls) expect(ms).toBeLessThan(2 ** 31)
    set.mockRestore()
    expect(drained.isResolved).toBe(false)
    work.resolve()
    await advance(0)
    expect(drained.isResolved).toBe(true)
  })

  test('takes deliveries for the grace, and refuses what comes after it', async () => {
    const { receiver, send } = receiving({ on: { 'order.created': () => {} } })
    const drained = receiver.drain({ graceSeconds: 5 })
    await advance(4.999)
    expect(await send(orderCreated({ id: 'ord_1' }))).toEqual({ outcome: 'handled' })
    await advance(0.001)
    expect(await send(orderCreated({ id: 'ord_2' }))).toMatchObject({ code: 'draining' })
    await drained
  })

  test('ends the grace at once if it is called again without one', async () => {
    const { receiver, send } = receiving({ on: { 'order.created': () => {} } })
    const both = [receiver.drain({ graceSeconds: 60 }), receiver.drain()]
    expect(await send(orderCreated())).toMatchObject({ code: 'draining' })
    await Promise.all(both)
    expect(vi.getTimerCount()).toBe(0)
  })

  test.each([-1, Number.NaN, '5', 1e10])(
    'refuses a grace of %s, and drains nothing',
    async (graceSeconds) => {
      const { receiver, send } = receiving({ on: { 'order.created': () => {} } })
      const refused = receiver.drain({ graceSeconds } as never)
      await expect(refused).rejects.toThrow(/graceSeconds must be a number of seconds/)
      expect(await send(orderCreated())).toEqual({ outcome: 'handled' })
    },
  )
})

test('a drain waits for all work that it counts, whether it resolves or rejects, and for what that starts', async () => {
  const drain = new Drain()
  const bound = { endsAtMs: performance.now() + 3_600_000 }
  const [first, second] = [deferred(), deferred()]
  drain.track(first.promise, bound)
  first.promise.catch(() => drain.track(second.promise, bound))
  const closed = watch(drain.close())
  first.reject(new Error('failed'))
  await advance(0)
  expect(closed.isResolved).toBe(false)
  second.resolve()
  await advance(0)
  expect(closed.isResolved).toBe(true)
})
