import type { HandlerContext, WebhookOptions } from 'tix-webhooks'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { orderCreated } from '../../support/deliveries.js'
import { BOOM, begin } from '../../support/delivering.js'
import { deferred, never } from '../../support/promises.js'
import { receiving } from '../../support/receiving.js'
import { advance, useVirtualTime } from '../../support/virtual-time.js'

useVirtualTime()

afterEach(() => {
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

type Handler = (event: unknown, ctx: HandlerContext) => unknown

const handledBy = (handler: Handler): Partial<WebhookOptions> => ({ on: { 'order.created': handler } })

describe('a handler', () => {
  test('that has settled is not given up while that is being recorded', async () => {
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

describe('the signal of a handler', () => {
  function countControllers() {
    const made = vi.fn()
    class Counted extends AbortController {
      constructor() {
        super()
        made()
      }
    }
    vi.stubGlobal('AbortController', Counted)
    return made
  }

  test('costs no AbortController before it is looked at, given up or not', async () => {
    const made = countControllers()
    const contexts: HandlerContext[] = []
    const handler: Handler = (_, ctx) => {
      contexts.push(ctx)
      return never()
    }
    const { answered } = await begin(
      { renew: async () => false },
      { ...handledBy(handler), maxRunSeconds: 90 },
    )
    await advance(90)
    expect(answered()).toMatchObject({ code: 'given_up' })
    expect(made).not.toHaveBeenCalled()

    // Read only now, it has aborted, for the first reason.
    expect(contexts[0]?.signal).toMatchObject({ aborted: true, reason: { code: 'lease_lost' } })
    expect(contexts[0]?.signal).toBe(contexts[0]?.signal)
    expect(made).toHaveBeenCalledOnce()
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
    await advance(10)
    await first
    await advance(289)
    expect(signal?.aborted).toBe(false)
    await advance(1)
    expect(signal?.aborted).toBe(true)
    expect(reports.map(({ error }) => error.code)).toEqual(['timed_out', 'given_up'])
    await advance(60)
    expect(await send(order)).toEqual({ outcome: 'handled' })
    expect(runs).toEqual([1, 2])
  })
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

test('the signal of a context is one, wherever the context is wrapped or inherited from', async () => {
  const { contexts, work } = await begin()
  await advance(0)
  const ctx = contexts[0] as HandlerContext
  const { signal } = ctx
  expect(signal).toBeInstanceOf(AbortSignal)
  for (const one of [ctx, Object.create(ctx), new Proxy(ctx, {})]) expect(one.signal).toBe(signal)
  work.resolve(undefined)
})
