import type { ClaimResult } from 'tix-webhooks'
import { describe, expect, test, vi } from 'vitest'
import { orderCreated, sign } from '../../support/deliveries.js'
import { deferred, never, throws } from '../../support/promises.js'
import { receiving, storeWith } from '../../support/receiving.js'
import { schemaOf } from '../../support/schema-of.js'
import { advance, useVirtualTime } from '../../support/virtual-time.js'

useVirtualTime()

describe('at the deadline', () => {
  test.each([
    ['a secret function', { secret: () => never<string>() }],
    ['a schema', { schemas: { 'order.created': schemaOf(() => never()) } }],
    [
      'a schema that is asked because the key function has thrown, and',
      { schemas: { 'order.created': schemaOf(() => never()) }, key: throws(new Error('no id')) },
    ],
  ])('%s that hangs is answered timed_out, and no handler starts later', async (_, options) => {
    const handler = vi.fn()
    const { send } = receiving({ ...options, on: { 'order.created': handler } } as object)
    const outcome = send(orderCreated())
    await advance(10)
    expect(await outcome).toMatchObject({ outcome: 'timed_out', code: 'timed_out', retryAfterSeconds: 5 })
    expect(handler).not.toHaveBeenCalled()
  })

  test('a handler that goes on is answered timed_out; its completion is recorded, and the retry is a duplicate', async () => {
    const work = deferred()
    const handler = vi.fn(() => work.promise)
    const { send, records } = receiving({ on: { 'order.created': handler } })
    const order = orderCreated()
    const first = send(order)
    await advance(10)
    expect(await first).toMatchObject({ outcome: 'timed_out', retryAfterSeconds: 5 })

    // The lease is 60 s, and is renewed as long as the handler runs.
    await advance(100)
    expect(await send(order)).toMatchObject({ outcome: 'in_flight' })
    work.resolve()
    await advance(0)
    expect(await send(order)).toEqual({ outcome: 'duplicate' })
    expect(handler).toHaveBeenCalledOnce()
    expect(records.map(({ outcome }) => outcome)).toEqual(['timed_out', 'in_flight', 'duplicate'])
  })

  test('a handler that has returned is handled, though recording it hangs', async () => {
    const { store, namespace } = storeWith({ complete: () => never() })
    const { send } = receiving({ store, namespace, timeoutSeconds: 3, on: { 'order.created': () => {} } })
    const outcome = send(orderCreated())
    await advance(3)
    expect(await outcome).toEqual({ outcome: 'handled' })
    await advance(50)
  })

  test('a delivery that waits for its store is handed to waitUntil from its claim to its answer', async () => {
    const claimed = deferred<ClaimResult>()
    const { store, namespace } = storeWith({ claim: () => claimed.promise })
    const { receiver } = receiving({ store, namespace, on: { 'order.created': () => {} } })
    const kept: Promise<unknown>[] = []
    const waitUntil = (promise: Promise<unknown>) => kept.push(promise)
    const forged = await sign(orderCreated(), { secret: 'whsec_forged' })
    await receiver.receive({ ...forged, request: null, waitUntil })
    expect(kept).toHaveLength(0)
    const outcome = receiver.receive({ ...(await sign(orderCreated())), request: null, waitUntil })
    await advance(1)
    expect(kept).toHaveLength(1)
    const ended = vi.fn()
    void kept[0]?.then(ended)
    await advance(0)
    expect(ended).not.toHaveBeenCalled()
    claimed.resolve({ status: 'claimed', attempt: 1 })
    expect(await outcome).toEqual({ outcome: 'handled' })
    await advance(0)
    expect(ended).toHaveBeenCalledOnce()
  })

  test('a waitUntil that throws changes nothing', async () => {
    const work = deferred()
    const { receiver } = receiving({ on: { 'order.created': () => work.promise } })
    const waitUntil = throws(new Error('This context has no ExecutionContext'))
    const outcome = receiver.receive({ ...(await sign(orderCreated())), request: null, waitUntil })
    await advance(10)
    expect(await outcome).toMatchObject({ outcome: 'timed_out' })
    work.resolve()
    await advance(0)
  })

  test('no handler is started any more where the event loop was blocked past it', async () => {
    const handler = vi.fn()
    const { store, namespace, base } = storeWith({
      claim: async (request) => {
        const result = await base.claim(request)
        // The clock advances and no timer fires, as when the thread is blocked.
        vi.setSystemTime(Date.now() + 11_000)
        vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 11_000)
        return result
      },
    })
    const { send } = receiving({ store, namespace, on: { 'order.created': handler } })
    const order = orderCreated()
    expect(await send(order)).toMatchObject({ outcome: 'timed_out' })
    vi.restoreAllMocks()
    expect(handler).not.toHaveBeenCalled()
    await advance(0)
    // The grant was released.
    expect(
      await base.claim({
        key: `test/order.created/${order.data.order.id}`,
        token: 'x',
        leaseMs: 1,
        retainMs: 9,
      }),
    ).toMatchObject({ status: 'claimed' })
  })
})
