import { type IdempotencyStore, memoryStore } from 'tix-webhooks'
import { describe, expect, test, vi } from 'vitest'
import { orderCreated } from '../../support/deliveries.js'
import { deferred, never } from '../../support/promises.js'
import { receiving, storeWith } from '../../support/receiving.js'
import { SOON } from '../../support/retry-after.js'
import { advance, useVirtualTime } from '../../support/virtual-time.js'

useVirtualTime()

async function fullStore(): Promise<IdempotencyStore> {
  const store = memoryStore({ maxKeys: 1, onFull: 'reject' })
  await store.claim({ key: 'another', token: 'running', leaseMs: 60_000, retainMs: 60_000 })
  return store
}

describe('a store', () => {
  test('that hangs at the claim is given up after 2 s, and a grant that comes later is given back', async () => {
    const reply = deferred()
    const { store, namespace, base } = storeWith({
      claim: async (request) => {
        const result = await base.claim(request)
        await reply.promise
        return result
      },
    })
    const handler = vi.fn()
    const { send, reports } = receiving({ store, namespace, on: { 'order.created': handler } })
    const order = orderCreated()
    const outcome = send(order)
    await advance(2)
    expect(await outcome).toMatchObject({
      outcome: 'unavailable',
      code: 'store_unavailable',
      retryAfterSeconds: SOON,
    })
    expect(reports[0]?.error.message).toMatch(/claim took too long/)
    const other = {
      key: `test/order.created/${order.data.order.id}`,
      token: 'other',
      leaseMs: 1000,
      retainMs: 9e9,
    }
    expect(await base.claim(other)).toMatchObject({ status: 'in_flight' })
    reply.resolve()
    await advance(0)
    expect(await base.claim(other)).toMatchObject({ status: 'claimed' })
    expect(handler).not.toHaveBeenCalled()
    await advance(2)
  })

  test.each<[string, () => Promise<IdempotencyStore>]>([
    ['store_unavailable', async () => storeWith({ claim: () => Promise.reject(new Error('down')) }).store],
    ['store_full', fullStore],
    ['store_misbehaved', async () => storeWith({ claim: async () => 'granted' as never }).store],
  ])('that cannot claim (%s) runs nothing', async (code, make) => {
    const handler = vi.fn()
    const options = { store: await make(), namespace: 'test' }
    const { send } = receiving({ ...options, on: { 'order.created': handler } })
    expect(await send(orderCreated())).toMatchObject({
      outcome: 'unavailable',
      code,
      retryAfterSeconds: SOON,
    })
    expect(handler).not.toHaveBeenCalled()
  })

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

  test('that hangs past the deadline starts no handler', async () => {
    const handler = vi.fn()
    const { store, namespace } = storeWith({ claim: () => never() })
    const options = { store, namespace, timeoutSeconds: 1 }
    const { send } = receiving({ ...options, on: { 'order.created': handler } })
    const outcome = send(orderCreated())
    await advance(1)
    expect((await outcome).retryAfterSeconds).toEqual(SOON)
    await advance(5)
    expect(handler).not.toHaveBeenCalled()
  })

  test('that has given the lease away aborts the signal, and the handler is still answered handled', async () => {
    const { store, namespace } = storeWith({ renew: async () => false, complete: async () => false })
    const work = deferred()
    let signal: AbortSignal | undefined
    const { send, reports } = receiving({
      store,
      namespace,
      timeoutSeconds: 60,
      on: {
        'order.created': (_, ctx) => {
          signal = ctx.signal
          return work.promise
        },
      },
    })
    const outcome = send(orderCreated())
    await advance(20)
    expect(signal?.aborted).toBe(true)
    expect(signal?.reason).toMatchObject({ code: 'lease_lost' })
    work.resolve()
    expect(await outcome).toEqual({ outcome: 'handled' })
    expect(reports.map(({ error }) => error.code)).toEqual(['lease_lost', 'not_recorded'])
  })

  test('that is back long after the answer records the completion, and a drain waits for that', async () => {
    const start = performance.now()
    const { store, namespace, base } = storeWith({})
    const isBack = (): boolean => performance.now() - start >= 15_000
    store.complete = async (lease, retainMs) => {
      if (isBack()) return base.complete(lease, retainMs)
      throw new Error('failing over')
    }
    const handler = vi.fn()
    const waitUntil = vi.fn()
    const { receiver, send, reports } = receiving({ store, namespace, on: { 'order.created': handler } })
    const order = orderCreated()
    const first = send(order, { waitUntil })
    await advance(1)
    expect(await first).toEqual({ outcome: 'handled' })
    // The delivery, and its completion.
    expect(waitUntil).toHaveBeenCalledTimes(2)
    const drained = receiver.drain()
    await advance(30)
    await drained

    const next = receiving({ store, namespace, on: { 'order.created': handler } })
    expect(await next.send(order)).toEqual({ outcome: 'duplicate' })
    expect(handler).toHaveBeenCalledOnce()
    expect(reports).toEqual([])
  })

  test('by default counts the runs of an event, also if it is given a clock', async () => {
    const attempts: unknown[] = []
    const { send } = receiving({
      now: () => Date.now(),
      on: {
        'order.created': (_, ctx) => {
          attempts.push(ctx.attempt)
          throw new Error('boom')
        },
      },
    })
    const order = orderCreated()
    for (const _ of [1, 2]) await send(order)
    expect(attempts).toEqual([1, 2])
  })

  test.each([
    ['an hour', 3_600_000],
    ['a month', 30 * 86_400_000],
  ])('by default keeps its leases when the clock of the receiver steps forward by %s', async (_, stepMs) => {
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
  })
})
