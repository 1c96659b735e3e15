import { describe, expect, test, vi } from 'vitest'
import { orderCreated } from '../../support/deliveries.js'
import { deferred, never } from '../../support/promises.js'
import { receiving } from '../../support/receiving.js'
import { advance, useVirtualTime } from '../../support/virtual-time.js'

useVirtualTime()

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

  test('and was given up may still complete', async () => {
    const work = deferred()
    const { send } = receiving({ maxRunSeconds: 5, on: { 'order.created': () => work.promise } })
    const order = orderCreated()
    const outcome = send(order)
    await advance(5)
    await outcome
    work.resolve()
    await advance(0)
    expect(await send(order)).toEqual({ outcome: 'duplicate' })
  })
})

test('a handler that outlives its answer, is given up and then fails is reported once at each of the three', async () => {
  const work = deferred()
  const { send, reports } = receiving({
    timeoutSeconds: 5,
    maxRunSeconds: 10,
    on: { 'order.created': () => work.promise },
  })
  const outcome = send(orderCreated())
  await advance(5)
  await outcome
  await advance(5)
  work.reject(new Error('much too late'))
  await advance(0)
  expect(reports.map(({ error }) => error.code ?? error.message)).toEqual([
    'timed_out',
    'given_up',
    'much too late',
  ])
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
