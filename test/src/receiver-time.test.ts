import { type BodyReader, RetryLater } from 'tix-webhooks'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { lifecycleEvent, orderCreated, SECRET, sign } from '../support/deliveries.js'
import { deferred, never, receiving, storeWith } from '../support/receiving.js'

// Fake timers move the monotonic clock and the wall clock together; nothing waits.
beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  expect(vi.getTimerCount(), 'timers left behind').toBe(0)
  vi.useRealTimers()
})

const pass = (seconds: number) => vi.advanceTimersByTimeAsync(seconds * 1000)

describe('at the deadline', () => {
  test('a body that has not arrived is incomplete, and its reader is told to let go', async () => {
    const { receiver, records } = receiving({ timeoutSeconds: 3 })
    const cancel = vi.fn()
    const body: BodyReader = Object.assign(() => never<Uint8Array>(), { cancel })
    const outcome = receiver.receive({ header: 't=1,v1=ab', body, request: null })
    await pass(2.9)
    expect(cancel).not.toHaveBeenCalled()
    await pass(0.1)
    expect(await outcome).toMatchObject({ outcome: 'incomplete', code: 'body_incomplete' })
    expect(cancel).toHaveBeenCalledOnce()
    expect(records).toMatchObject([{ durationMs: 3000 }])
  })

  test.each([
    ['a secret function', { secret: () => never<string>() }],
    ['a schema', { schemas: { 'order.created': hangingSchema() } }],
  ])('%s that hangs is answered timed-out, and no handler starts later', async (_, options) => {
    const handler = vi.fn()
    const { send } = receiving({ ...options, on: { 'order.created': handler } } as object)
    const outcome = send(orderCreated())
    await pass(10)
    expect(await outcome).toMatchObject({ outcome: 'timed-out', code: 'timed_out', retryAfterSeconds: 5 })
    expect(handler).not.toHaveBeenCalled()
  })

  test('a handler that goes on is answered timed-out; its completion is recorded, and the retry is a duplicate', async () => {
    const work = deferred()
    const handler = vi.fn(() => work.promise)
    const { send, records } = receiving({ on: { 'order.created': handler } })
    const order = orderCreated()
    const first = send(order)
    await pass(10)
    expect(await first).toMatchObject({ outcome: 'timed-out', retryAfterSeconds: 5 })

    // The lease is 60 s, and renewed for as long as the handler goes on.
    await pass(100)
    expect(await send(order)).toMatchObject({ outcome: 'in-flight' })
    work.resolve()
    await pass(0)
    expect(await send(order)).toEqual({ outcome: 'duplicate' })
    expect(handler).toHaveBeenCalledOnce()
    expect(records.map(({ outcome }) => outcome)).toEqual(['timed-out', 'in-flight', 'duplicate'])
  })

  test('a handler that fails after it is released and reported, and the retry runs', async () => {
    const work = deferred()
    const runs: unknown[] = []
    const { send, reports } = receiving({
      on: {
        'order.created': (_, ctx) => {
          runs.push(ctx.attempt)
          return ctx.attempt === 1 ? work.promise : undefined
        },
      },
    })
    const order = orderCreated()
    const first = send(order)
    await pass(10)
    await first
    work.reject(new Error('too late'))
    await pass(0)
    expect(reports.map(({ error }) => error.message)).toEqual([
      expect.stringContaining('had not returned after 10 s'),
      'too late',
    ])
    expect(await send(order)).toEqual({ outcome: 'handled' })
    expect(runs).toEqual([1, 2])
  })

  test('a RetryLater after it is not reported, and the retry runs', async () => {
    const work = deferred()
    const { send, reports } = receiving({
      on: { 'order.created': (_, ctx) => (ctx.attempt === 1 ? work.promise : undefined) },
    })
    const order = orderCreated()
    const first = send(order)
    await pass(10)
    await first
    work.reject(new RetryLater({ afterSeconds: 1 }))
    await pass(0)
    expect(reports).toHaveLength(1)
    expect(await send(order)).toEqual({ outcome: 'handled' })
  })

  test('a handler that has returned is handled, though recording it hangs', async () => {
    const { store, namespace } = storeWith({ complete: () => never() })
    const { send } = receiving({ store, namespace, timeoutSeconds: 3, on: { 'order.created': () => {} } })
    const outcome = send(orderCreated())
    await pass(3)
    expect(await outcome).toEqual({ outcome: 'handled' })
    await pass(10)
  })

  test('a handler that has thrown has failed, though releasing it hangs', async () => {
    const { store, namespace } = storeWith({ release: () => never() })
    const boom = new Error('boom')
    const handler = () => Promise.reject(boom)
    const { send } = receiving({ store, namespace, timeoutSeconds: 3, on: { 'order.created': handler } })
    const outcome = send(orderCreated())
    await pass(3)
    expect(await outcome).toMatchObject({ outcome: 'failed', error: boom })
    await pass(10)
  })

  test('work that goes on is handed to waitUntil, and work that is done is not', async () => {
    const work = deferred()
    const { receiver } = receiving({
      on: { 'order.created': () => work.promise, 'event.published': () => {} },
    })
    const kept: Promise<unknown>[] = []
    const waitUntil = (promise: Promise<unknown>) => {
      kept.push(promise)
    }
    await receiver.receive({ ...(await sign(lifecycleEvent('event.published'))), request: null, waitUntil })
    expect(kept).toHaveLength(0)
    const outcome = receiver.receive({ ...(await sign(orderCreated())), request: null, waitUntil })
    await pass(10)
    await outcome
    expect(kept).toHaveLength(1)
    work.resolve()
    expect(await kept[0]).toEqual({ outcome: 'handled' })
  })

  test('a waitUntil that throws changes nothing', async () => {
    const work = deferred()
    const { receiver } = receiving({ on: { 'order.created': () => work.promise } })
    const waitUntil = () => {
      throw new Error('This context has no ExecutionContext')
    }
    const outcome = receiver.receive({ ...(await sign(orderCreated())), request: null, waitUntil })
    await pass(10)
    expect(await outcome).toMatchObject({ outcome: 'timed-out' })
    work.resolve()
    await pass(0)
  })

  test('no handler is started any more where the event loop was blocked past it', async () => {
    const handler = vi.fn()
    const { store, namespace, base } = storeWith({
      claim: async (request) => {
        const result = await base.claim(request)
        // The clock goes on and no timer fires, as when something blocks the thread.
        vi.setSystemTime(Date.now() + 11_000)
        vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 11_000)
        return result
      },
    })
    const { send } = receiving({ store, namespace, on: { 'order.created': handler } })
    const order = orderCreated()
    expect(await send(order)).toMatchObject({ outcome: 'timed-out' })
    vi.restoreAllMocks()
    expect(handler).not.toHaveBeenCalled()
    await pass(0)
    // The grant was given back.
    expect(
      await base.claim({
        key: `test/order.created/${order.data.order.id}`,
        token: 'x',
        leaseMs: 1,
        retainMs: 9,
      }),
    ).toMatchObject({
      status: 'claimed',
    })
  })
})

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
    await pass(2)
    expect(await outcome).toMatchObject({
      outcome: 'unavailable',
      code: 'store_unavailable',
      retryAfterSeconds: 5,
    })
    expect(reports[0]?.error.message).toMatch(/claim took too long/)
    const other = {
      key: `test/order.created/${order.data.order.id}`,
      token: 'other',
      leaseMs: 1000,
      retainMs: 9e9,
    }
    expect(await base.claim(other)).toMatchObject({ status: 'in-flight' })
    reply.resolve()
    await pass(0)
    expect(await base.claim(other)).toMatchObject({ status: 'claimed' })
    expect(handler).not.toHaveBeenCalled()
    await pass(2)
  })

  test('that rejects is unavailable, and the handler does not run', async () => {
    const handler = vi.fn()
    const down = new Error('ECONNREFUSED')
    const { store, namespace } = storeWith({ claim: () => Promise.reject(down) })
    const { send } = receiving({ store, namespace, on: { 'order.created': handler } })
    expect(await send(orderCreated())).toMatchObject({
      outcome: 'unavailable',
      code: 'store_unavailable',
      error: { cause: down },
    })
    expect(handler).not.toHaveBeenCalled()
  })

  test("that is down runs the handler without protection where storeFailure is 'process', and says so", async () => {
    const contexts: unknown[] = []
    const { store, namespace } = storeWith({ claim: () => Promise.reject(new Error('down')) })
    const { send, reports } = receiving({
      store,
      namespace,
      storeFailure: 'process',
      on: { 'order.created': (_, { deduplicated, attempt }) => contexts.push({ deduplicated, attempt }) },
    })
    expect(await send(orderCreated())).toEqual({ outcome: 'handled' })
    expect(contexts).toEqual([{ deduplicated: false, attempt: undefined }])
    expect(reports.map(({ error }) => error.code)).toEqual(['store_unavailable'])
  })

  test("that hangs past the deadline starts no handler, also where storeFailure is 'process'", async () => {
    const handler = vi.fn()
    const { store, namespace } = storeWith({ claim: () => never() })
    const options = { store, namespace, storeFailure: 'process', timeoutSeconds: 1 } as const
    const { send } = receiving({ ...options, on: { 'order.created': handler } })
    const outcome = send(orderCreated())
    await pass(1)
    expect((await outcome).retryAfterSeconds).toBe(5)
    await pass(5)
    expect(handler).not.toHaveBeenCalled()
  })

  test('that cannot record a completion is tried a few times, and the answer is handled all the same', async () => {
    const complete = vi.fn(() => Promise.reject(new Error('down')))
    const { store, namespace } = storeWith({ complete })
    const { send, reports } = receiving({ store, namespace, on: { 'order.created': () => {} } })
    const outcome = send(orderCreated())
    await pass(2)
    expect(await outcome).toEqual({ outcome: 'handled' })
    expect(complete).toHaveBeenCalledTimes(3)
    expect(reports.map(({ error }) => error.code)).toEqual(['not_recorded'])
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
    await pass(20)
    expect(signal?.aborted).toBe(true)
    expect(signal?.reason).toMatchObject({ code: 'lease_lost' })
    work.resolve()
    expect(await outcome).toEqual({ outcome: 'handled' })
    expect(reports.map(({ error }) => error.code)).toEqual(['lease_lost', 'not_recorded'])
  })
})

describe('a handler that never settles', () => {
  test('is given up after maxRunSeconds: its signal aborts, it is reported, and the event runs again after the lease', async () => {
    let signal: AbortSignal | undefined
    const runs: unknown[] = []
    const { send, reports } = receiving({
      on: {
        'order.created': (_, ctx) => {
          signal ??= ctx.signal
          runs.push(ctx.attempt)
          return ctx.attempt === 1 ? never() : undefined
        },
      },
    })
    const order = orderCreated()
    const first = send(order)
    await pass(10)
    await first
    await pass(289)
    expect(signal?.aborted).toBe(false)
    await pass(1)
    expect(signal?.aborted).toBe(true)
    expect(reports.map(({ error }) => error.code)).toEqual(['timed_out', 'given_up'])
    await pass(60)
    expect(await send(order)).toEqual({ outcome: 'handled' })
    expect(runs).toEqual([1, 2])
  })

  test('is answered when it is given up, where that comes before the deadline', async () => {
    const { send } = receiving({ maxRunSeconds: 5, on: { 'order.created': () => never() } })
    const outcome = send(orderCreated())
    await pass(5)
    expect(await outcome).toMatchObject({
      outcome: 'timed-out',
      code: 'timed_out',
      error: { code: 'given_up' },
    })
  })

  test('and was given up may still complete', async () => {
    const work = deferred()
    const { send } = receiving({ maxRunSeconds: 5, on: { 'order.created': () => work.promise } })
    const order = orderCreated()
    const outcome = send(order)
    await pass(5)
    await outcome
    work.resolve()
    await pass(0)
    expect(await send(order)).toEqual({ outcome: 'duplicate' })
  })
})

test('a handler that was given up and fails after all is reported', async () => {
  const work = deferred()
  const { send, reports } = receiving({ maxRunSeconds: 5, on: { 'order.created': () => work.promise } })
  const outcome = send(orderCreated())
  await pass(5)
  await outcome
  work.reject(new Error('much too late'))
  await pass(0)
  expect(reports.map(({ error }) => error.message)).toEqual([
    expect.stringContaining('given up'),
    'much too late',
  ])
})

describe('drain', () => {
  test('lets the running handler finish and refuses what comes meanwhile', async () => {
    const work = deferred()
    const { receiver, send } = receiving({ on: { 'order.created': () => work.promise } })
    const first = send(orderCreated())
    await pass(0)
    let drained = false
    const drain = receiver.drain().then(() => {
      drained = true
    })
    expect(await send(orderCreated())).toMatchObject({ outcome: 'unavailable', code: 'draining' })
    await pass(1)
    expect(drained).toBe(false)
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
    await pass(10)
    await first
    let drained = false
    const drain = receiver.drain().then(() => {
      drained = true
    })
    work.resolve()
    await pass(1)
    expect(drained).toBe(false)
    recorded.resolve(true)
    await drain
  })

  test('waits for a handler that never settles until it is given up, no longer', async () => {
    const { receiver, send } = receiving({ maxRunSeconds: 30, on: { 'order.created': () => never() } })
    const first = send(orderCreated())
    await pass(10)
    await first
    const drain = receiver.drain()
    await pass(20)
    await drain
  })

  test('can be called twice, and before anything came', async () => {
    const { receiver } = receiving()
    await Promise.all([receiver.drain(), receiver.drain()])
    await receiver.drain()
  })

  test('waits for a delivery whose body is still arriving, and for its handler', async () => {
    const order = await sign(orderCreated())
    const arriving = deferred<Uint8Array>()
    const handler = vi.fn()
    const { receiver } = receiving({ on: { 'order.created': handler } })
    const first = receiver.receive({ header: order.header, body: () => arriving.promise, request: null })
    let drained = false
    const drain = receiver.drain().then(() => {
      drained = true
    })
    await pass(1)
    expect(drained).toBe(false)
    arriving.resolve(order.body)
    await drain
    expect(await first).toEqual({ outcome: 'handled' })
    expect(handler).toHaveBeenCalledOnce()
  })

  test('ends though deliveries keep coming', async () => {
    const work = deferred()
    const { receiver, send } = receiving({ on: { 'order.created': () => work.promise } })
    const first = send(orderCreated())
    await pass(0)
    let drained = false
    let refused = 0
    const drain = receiver.drain().then(() => {
      drained = true
    })
    // Several senders, so that one of them always has a delivery under way; far more than a drain needs.
    const flood = async (): Promise<void> => {
      while (!drained && refused < 10_000) {
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

test('a delivery that ends well leaves no timer behind', async () => {
  const { send } = receiving({ secret: SECRET, on: { 'order.created': () => {} } })
  await send(orderCreated())
  expect(vi.getTimerCount()).toBe(0)
})

function hangingSchema() {
  return { '~standard': { version: 1, vendor: 'test', validate: () => never() } } as const
}
