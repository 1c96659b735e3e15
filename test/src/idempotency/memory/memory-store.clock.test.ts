import { memoryStore } from 'tix-webhooks'
import { describe, expect, test, vi } from 'vitest'
import { orderCreated } from '../../../support/deliveries.js'
import { deferred } from '../../../support/promises.js'
import { receiving } from '../../../support/receiving.js'
import { runs } from '../../../support/runs.js'
import { advance, useVirtualTime } from '../../../support/virtual-time.js'

useVirtualTime()

const REQUEST = { key: 'k', token: 'mine', leaseMs: 30_000, retainMs: 1_000_000 }
const OTHER = { ...REQUEST, token: 'other' }

describe('time', () => {
  test('is monotonic: setting the clock of the machine frees no lease and forgets no record', async () => {
    const store = memoryStore()
    await store.claim(REQUEST)

    vi.setSystemTime(Date.now() + 365 * 86_400_000)
    expect(await store.claim(OTHER)).toEqual({ status: 'in_flight', retryAfterMs: 30_000 })
    await store.complete(REQUEST, 1_000_000)
    vi.setSystemTime(0)
    expect(await store.claim(OTHER)).toEqual({ status: 'completed' })
  })
})

/** At least five times the capacity of the store. */
const EVENTS = Math.max(runs(250_000), 250_000)

test('events go through a store of 50,000, which stays within its bound', { tags: ['slow'] }, async () => {
  let now = 0
  let evicted = 0
  const store = memoryStore({
    maxKeys: 50_000,
    now: () => now,
    onEvict: ({ count }) => {
      evicted += count
    },
  })

  // A store that walks its keys would take many minutes, and run into the time limit of the test.
  let largest = 0
  for (let index = 0; index < EVENTS; index++) {
    const lease = { key: `orders/order.created/ord_${index}`, token: `t.${index}` }
    now += 0.1
    void store.claim({ ...lease, leaseMs: 30_000, retainMs: 604_800_000 })
    void store.complete(lease, 604_800_000)
    largest = Math.max(largest, index + 1 - evicted)
    // The calls are synchronous; their promises are released in batches.
    if (index % 10_000 === 0) await Promise.resolve()
  }

  expect(largest).toBe(50_000)
  const last = { key: `orders/order.created/ord_${EVENTS - 1}`, token: 'another', leaseMs: 1, retainMs: 1 }
  expect(await store.claim(last)).toEqual({ status: 'completed' })
})

describe('invalid options are refused', () => {
  test.each([
    ['maxKeys', 0],
    ['maxKeys', -1],
    ['maxKeys', 1.5],
    ['maxKeys', Number.NaN],
    ['maxKeys', Number.POSITIVE_INFINITY],
    ['maxKeys', '1000'],
    ['maxKeys', null],
    ['onFull', 'drop'],
    ['onFull', null],
    ['onEvict', 'console'],
    ['onEvict', null],
    ['now', 1_760_000_000_000],
    ['now', null],
  ])('%s: %j', (option, value) => {
    const create = (): unknown => memoryStore({ [option]: value })
    expect(create).toThrow(TypeError)
    expect(create).toThrow(new RegExp(`^${option} must be`))
  })
})

describe('the store of a receiver', () => {
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

  test('by default keeps its leases when the clock of the receiver steps forward by a month', async () => {
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
    steppedMs = 30 * 86_400_000
    expect(await send(order)).toMatchObject({ outcome: 'in_flight' })
    work.resolve()
    expect(await first).toEqual({ outcome: 'handled' })
    expect(await send(order)).toEqual({ outcome: 'duplicate' })
    expect(handler).toHaveBeenCalledOnce()
  })
})
