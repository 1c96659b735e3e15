import type { ClaimResult, HandlerContext } from 'tix-webhooks'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { orderCreated, sign } from '../../support/deliveries.js'
import { BOOM, begin } from '../../support/delivering.js'
import { deferred, never, throws } from '../../support/promises.js'
import { receiving, storeWith } from '../../support/receiving.js'
import { schemaOf } from '../../support/schema-of.js'
import { advance, useVirtualTime } from '../../support/virtual-time.js'

useVirtualTime()

afterEach(() => {
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

test('a handler that has settled is not given up while that is being recorded', async () => {
  const recorded = deferred<boolean>()
  const { contexts, work, answered, kept, codes, drain } = await begin(
    { complete: () => recorded.promise },
    { maxRunSeconds: 10, timeoutSeconds: 11 },
  )
  await advance(9.5)
  work.resolve(undefined)
  await advance(1.499)
  expect(answered()).toBeUndefined()
  await advance(0.001)
  expect(answered()).toEqual({ outcome: 'handled' })
  expect(contexts[0]?.signal.aborted).toBe(false)
  const drained = drain()
  expect(kept()).toHaveLength(1)
  await advance(0.4)
  expect(drained.isResolved).toBe(false)
  recorded.resolve(true)
  expect(await kept()[0]).toEqual({ outcome: 'handled' })
  expect(codes()).toEqual([])
})

describe('a handler that has not settled after maxRunSeconds', () => {
  test('keeps no lease, though it was given up while a renewal was under way', async () => {
    const renewed = deferred<boolean>()
    const { called } = await begin({ renew: () => renewed.promise }, { maxRunSeconds: 21 })
    await advance(21)
    renewed.resolve(true)
    await advance(600)
    expect(called()).toEqual(['claim', 'renew'])
  })

  test.each([
    ['complete', 'returns', ['given_up']],
    ['release', 'fails', ['given_up', 'boom']],
  ] as const)('still has its %s sent when it %s later', async (end, _, codes) => {
    const { called, work, answered, kept, ...heard } = await begin({}, { maxRunSeconds: 90 })
    await advance(300)
    const before = called().length
    if (end === 'complete') work.resolve(undefined)
    else work.reject(BOOM)
    await advance(0)
    expect(called().slice(before)).toEqual([end])
    expect(answered()).toMatchObject({ outcome: 'timed_out' })
    expect(heard.codes()).toEqual(codes)
    expect(kept()).toEqual([])
  })

  test('is no longer waited for by the platform, once its sender has had the answer', async () => {
    const { kept } = await begin({}, { timeoutSeconds: 10, maxRunSeconds: 90 })
    await advance(10)
    expect(kept()).toHaveLength(1)
    await advance(80)
    expect(await kept()[0]).toMatchObject({ outcome: 'timed_out', code: 'given_up' })
  })
})

test('the signal of a context costs no AbortController before it is looked at, and is one wherever the context is wrapped', async () => {
  const made = vi.fn()
  class Counted extends AbortController {
    constructor() {
      super()
      made()
    }
  }
  vi.stubGlobal('AbortController', Counted)
  const { answered, contexts } = await begin({ renew: async () => false }, { maxRunSeconds: 90 })
  await advance(90)
  expect(answered()).toMatchObject({ code: 'given_up' })
  expect(made).not.toHaveBeenCalled()

  // Read only now, it has aborted, for the first reason.
  const ctx = contexts[0] as HandlerContext
  const { signal } = ctx
  expect(signal).toMatchObject({ aborted: true, reason: { code: 'lease_lost' } })
  for (const one of [ctx, Object.create(ctx), new Proxy(ctx, {})]) expect(one.signal).toBe(signal)
  expect(made).toHaveBeenCalledOnce()
})

test('a drain and the platform wait no longer though both limits of a delivery pass in one step, as a fake clock makes them', async () => {
  const kept: Promise<unknown>[] = []
  const { receiver, send } = receiving({ maxRunSeconds: 5, on: { 'order.created': () => never() } })
  const outcome = send(orderCreated(), { waitUntil: (work) => kept.push(work) })
  await advance(0)
  vi.advanceTimersByTime(20_000)
  expect(await outcome).toMatchObject({ code: 'given_up' })
  await Promise.all(kept)
  await receiver.drain()
})

describe('at the deadline', () => {
  // Setting the clock of the machine neither brings the deadline nor puts it off.
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
    const seen = vi.fn()
    void send(orderCreated()).then(seen)
    await advance(5)
    vi.setSystemTime(Date.now() + 86_400_000)
    await advance(4)
    vi.setSystemTime(0)
    await advance(0.999)
    expect(seen).not.toHaveBeenCalled()
    await advance(0.001)
    const expected = { outcome: 'timed_out', code: 'timed_out', retryAfterSeconds: 5 }
    expect(seen).toHaveBeenCalledExactlyOnceWith(expect.objectContaining(expected))
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
