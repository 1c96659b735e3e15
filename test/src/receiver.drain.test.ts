import type { Delivery } from 'tix-webhooks'
import { describe, expect, test, vi } from 'vitest'
import { orderCreated, sign } from '../support/deliveries.js'
import { deferred, never, watch } from '../support/promises.js'
import { receiving, storeWith } from '../support/receiving.js'
import { advance, useVirtualTime } from '../support/virtual-time.js'

useVirtualTime()

describe('drain', () => {
  test('lets the running handler finish and refuses what comes meanwhile', async () => {
    const work = deferred()
    const { receiver, send } = receiving({ on: { 'order.created': () => work.promise } })
    const first = send(orderCreated())
    await advance(0)
    const drain = receiver.drain()
    const drained = watch(drain)
    expect(await send(orderCreated())).toMatchObject({ outcome: 'unavailable', code: 'draining' })
    await advance(1)
    expect(drained.isResolved).toBe(false)
    work.resolve()
    expect(await first).toEqual({ outcome: 'handled' })
    await drain
  })

  test('waits for a handler whose sender has been answered already, and for its record', async () => {
    const work = deferred()
    const recorded = deferred<boolean>()
    const { store, namespace } = storeWith({ complete: () => recorded.promise })
    const { receiver, send } = receiving({ store, namespace, on: { 'order.created': () => work.promise } })
    const first = send(orderCreated())
    await advance(10)
    await first
    const drain = receiver.drain()
    const drained = watch(drain)
    work.resolve()
    await advance(1)
    expect(drained.isResolved).toBe(false)
    recorded.resolve(true)
    await drain
  })

  test('waits for a handler that never settles until it is given up, no longer', async () => {
    const { receiver, send } = receiving({ maxRunSeconds: 30, on: { 'order.created': () => never() } })
    const first = send(orderCreated())
    await advance(10)
    await first
    const drain = receiver.drain()
    await advance(20)
    await drain
  })

  // A Worker ends the timers of a request with it.
  test.each([
    ['a handler that never settles', 0, 11],
    ['a handler that never settles and whose sender has been answered', 10, 31],
    ['a store that hangs', 0, 11],
  ])(
    'waits for %s no longer than it may last, though its timers are gone',
    async (what, goneAt, lastsUntil) => {
      const { store, namespace } = storeWith(what === 'a store that hangs' ? { claim: () => never() } : {})
      const on = { 'order.created': () => never() }
      const { receiver, send } = receiving({ store, namespace, on, leaseSeconds: 120, maxRunSeconds: 30 })
      const timers = vi.spyOn(globalThis, 'setTimeout')
      void send(orderCreated())
      await advance(goneAt)
      for (const { value } of timers.mock.results) clearTimeout(value as NodeJS.Timeout)
      timers.mockRestore()
      const drain = receiver.drain()
      const drained = watch(drain)
      await advance(lastsUntil - goneAt - 1)
      expect(drained.isResolved).toBe(false)
      await advance(2)
      await drain
    },
  )

  // The store does not take what is recorded, which is tried for 46 s at most.
  test.each([
    ['alone', 1.5, []],
    ['after a handler that may run for less', 6.5, [never]],
  ] as const)(
    'waits for a record that is tried again, %s, no longer than that may last, though its timers are gone',
    async (_, goneAt, handlers) => {
      const { store, namespace } = storeWith({ complete: () => Promise.reject(new Error('ECONNREFUSED')) })
      const next: (() => unknown)[] = [() => {}, ...handlers]
      const on = { 'order.created': () => next.shift()?.() }
      const limits =
        handlers.length === 0 ? { timeoutSeconds: 3_600 } : { timeoutSeconds: 5, maxRunSeconds: 10 }
      const { receiver, send } = receiving({ store, namespace, on, ...limits })
      const timers = vi.spyOn(globalThis, 'setTimeout')
      void send(orderCreated())
      await advance(1)
      if (handlers.length > 0) void send(orderCreated())
      await advance(goneAt - 1)
      for (const { value } of timers.mock.results) clearTimeout(value as NodeJS.Timeout)
      timers.mockRestore()
      const drained = watch(receiver.drain())
      await advance(1 + 46 + 0.999 - goneAt)
      expect(drained.isResolved).toBe(false)
      await advance(0.001)
      expect(drained.isResolved).toBe(true)
    },
  )

  test('sets no timer for longer than a timer can be set for', async () => {
    const maxRunSeconds = 2_147_483
    const limits = { maxRunSeconds, leaseSeconds: maxRunSeconds, retentionSeconds: 3e6, timeoutSeconds: 1 }
    const work = deferred()
    const { receiver, send } = receiving({ ...limits, on: { 'order.created': () => work.promise } })
    void send(orderCreated())
    vi.spyOn(performance, 'now').mockReturnValue(performance.now())
    await advance(1)
    const set = vi.spyOn(globalThis, 'setTimeout')
    const drained = receiver.drain()
    work.resolve()
    await drained
    expect(set.mock.calls.map(([, ms]) => ms)).toEqual([expect.closeTo(60_000)])
    vi.restoreAllMocks()
  })

  test('waits no longer for work whose timers are gone, though deliveries keep coming', async () => {
    const { receiver, send } = receiving({ on: { 'order.created': () => never() } })
    const timers = vi.spyOn(globalThis, 'setTimeout')
    void send(orderCreated())
    await advance(0)
    for (const { value } of timers.mock.results) clearTimeout(value as NodeJS.Timeout)
    timers.mockRestore()
    const drained = watch(receiver.drain())
    for (let second = 1; second <= 11; second++) {
      expect(drained.isResolved).toBe(false)
      expect(await send(orderCreated())).toMatchObject({ code: 'draining' })
      await advance(1)
    }
    expect(drained.isResolved).toBe(true)
  })

  test('does not wait for a store that is down to take back claims that it refused', async () => {
    const down = () => Promise.reject(new Error('ECONNREFUSED'))
    const { store, namespace } = storeWith({ claim: down, release: down })
    const { send, receiver } = receiving({ store, namespace, on: { 'order.created': () => {} } })
    expect(await send(orderCreated())).toMatchObject({ outcome: 'unavailable' })
    let isDrained = false
    void receiver.drain().then(() => {
      isDrained = true
    })
    await advance(1.1)
    expect(isDrained).toBe(true)
  })

  test('can be called before anything came, and again', async () => {
    const { receiver } = receiving()
    await Promise.all([receiver.drain(), receiver.drain()])
    await receiver.drain()
  })

  test('waits at each call, until the last handler has settled, whether it succeeds or fails', async () => {
    const works = [deferred(), deferred(), deferred()]
    const { receiver, send } = receiving({
      on: { 'order.created': (event) => works[Number(event.data.order.id)]?.promise },
    })
    const outcomes = works.map((_, index) => send(orderCreated({ id: String(index) })))
    await advance(0)
    const drained = [watch(receiver.drain()), watch(receiver.drain())]
    works[1]?.reject(new Error('boom'))
    works[0]?.resolve()
    await advance(1)
    const later = watch(receiver.drain())
    expect([...drained, later].map(({ isResolved }) => isResolved)).toEqual([false, false, false])
    works[2]?.resolve()
    await advance(0)
    expect([...drained, later].map(({ isResolved }) => isResolved)).toEqual([true, true, true])
    expect((await Promise.all(outcomes)).map(({ outcome }) => outcome)).toEqual([
      'handled',
      'failed',
      'handled',
    ])
  })

  test.each([3_600, 2_147_483])('waits for a handler that may run for %i s', async (maxRunSeconds) => {
    const { receiver, send } = receiving({
      maxRunSeconds,
      retentionSeconds: 3e6,
      leaseSeconds: maxRunSeconds,
      on: { 'order.created': () => never() },
    })
    const outcome = send(orderCreated())
    await advance(10)
    await outcome
    const drained = watch(receiver.drain())
    await advance(maxRunSeconds - 11)
    expect(drained.isResolved).toBe(false)
    await advance(1)
    expect(drained.isResolved).toBe(true)
  })

  test('waits for a delivery whose body is still arriving, and for its handler', async () => {
    const order = await sign(orderCreated())
    const arriving = deferred<Uint8Array>()
    const handler = vi.fn()
    const { receiver } = receiving({ on: { 'order.created': handler } })
    const first = receiver.receive({ header: order.header, body: () => arriving.promise, request: null })
    const drain = receiver.drain()
    const drained = watch(drain)
    await advance(1)
    expect(drained.isResolved).toBe(false)
    arriving.resolve(order.body)
    await drain
    expect(await first).toEqual({ outcome: 'handled' })
    expect(handler).toHaveBeenCalledOnce()
  })

  test('ends though an adapter has handed in what is no delivery', async () => {
    const { receiver } = receiving()
    const outcome = await receiver.receive(undefined as unknown as Delivery)
    expect(outcome).toMatchObject({ outcome: 'misconfigured', error: expect.any(TypeError) })
    await receiver.drain()
  })

  test('ends though deliveries keep coming', async () => {
    const work = deferred()
    const { receiver, send } = receiving({ on: { 'order.created': () => work.promise } })
    const first = send(orderCreated())
    await advance(0)
    let refused = 0
    const drain = receiver.drain()
    const drained = watch(drain)
    // Several senders, so that one of them always has a delivery under way; far more than a drain needs.
    const flood = async (): Promise<void> => {
      while (!drained.isResolved && refused < 10_000) {
        await send(orderCreated())
        refused += 1
      }
    }
    const floods = [flood(), flood(), flood()]
    work.resolve()
    await Promise.all([drain, first, ...floods])
    expect(refused).toBeLessThan(10_000)
  })
})
