import type { HandlerContext } from 'tix-webhooks'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { orderCreated } from '../../support/deliveries.js'
import { ALL_WELL, honestInbox, type Ledger } from '../../support/honest-inbox.js'
import { deferred, watch } from '../../support/promises.js'
import { SOON } from '../../support/retry-after.js'
import { receivingWith, scriptedInbox } from '../../support/scripted-inbox.js'
import { advance, useVirtualTime } from '../../support/virtual-time.js'

useVirtualTime()

afterEach(() => {
  vi.restoreAllMocks()
})

const TIMED_OUT = { outcome: 'timed_out', code: 'timed_out', retryAfterSeconds: 5 }
const UNAVAILABLE = { outcome: 'unavailable', code: 'store_unavailable', retryAfterSeconds: SOON }

type Context = HandlerContext<unknown, Ledger>

describe('a transaction that is not open by the deadline', () => {
  test('is unavailable at the deadline; when it opens, it is rolled back and no handler runs', async () => {
    const {
      inbox: honest,
      effects,
      records: kept,
    } = honestInbox({ fates: [{ ...ALL_WELL, opensAfter: 12 }] })
    const { inbox, ends } = scriptedInbox((request, work) => honest.once(request, work))
    const handler = vi.fn()
    const { send, records, reports } = receivingWith(inbox, { on: { 'order.created': handler } })
    const outcome = send(orderCreated())
    await advance(10)
    expect(await outcome).toMatchObject({
      ...UNAVAILABLE,
      error: { message: expect.stringMatching(/pool of connections too small/) },
    })
    expect(records).toMatchObject([{ outcome: 'unavailable', durationMs: 10_000 }])
    expect(reports).toHaveLength(1)

    await advance(2)
    expect(ends).toEqual([{ rejected: expect.objectContaining({ code: 'store_unavailable' }) }])
    expect(handler).not.toHaveBeenCalled()
    expect(effects).toEqual([])
    expect(kept.size).toBe(0)
    expect(reports).toHaveLength(1)
  })

  test('because the event loop was blocked is rolled back, and no handler runs', async () => {
    const { inbox, ends } = scriptedInbox((_, work) => {
      blockFor(11)
      return work({})
    })
    const handler = vi.fn()
    const { send } = receivingWith(inbox, { on: { 'order.created': handler } })
    expect(await send(orderCreated())).toMatchObject(UNAVAILABLE)
    expect(handler).not.toHaveBeenCalled()
    expect(ends).toEqual([{ rejected: expect.objectContaining({ code: 'store_unavailable' }) }])
  })
})

describe('a handler that is slower than the deadline', () => {
  /** A handler that a test settles, and that writes before it returns. */
  function slow(fate = ALL_WELL, options = {}) {
    const work = deferred()
    const honest = honestInbox({ fates: [fate] })
    const handler = vi.fn(async (_: unknown, { tx }: Context) => {
      await work.promise
      tx.write('tickets')
    })
    return {
      work,
      handler,
      ...honest,
      ...receivingWith(honest.inbox, { on: { 'order.created': handler }, ...options }),
    }
  }

  test('is timed_out at the deadline, goes on, commits, and the retry is a duplicate', async () => {
    const { work, send, effects, records, reports, handler } = slow()
    const order = orderCreated()
    const first = send(order)
    await advance(9.9)
    expect(records).toEqual([])
    await advance(0.1)
    expect(await first).toMatchObject(TIMED_OUT)
    expect(await send(order)).toMatchObject({ outcome: 'in_flight' })
    work.resolve()
    await advance(0)
    expect(effects).toEqual(['tickets'])
    expect(await send(order)).toEqual({ outcome: 'duplicate' })
    expect(handler).toHaveBeenCalledOnce()
    expect(records.map(({ outcome, status }) => [outcome, status])).toEqual([
      ['timed_out', 503],
      ['in_flight', 503],
      ['duplicate', 200],
    ])
    expect(reports.map(({ error }) => error.code)).toEqual(['timed_out'])
  })

  test('is given up after maxRunSeconds: its signal aborts, a drain goes on, and what it wrote is rolled back', async () => {
    let signal: AbortSignal | undefined
    const work = deferred()
    const { inbox, effects } = honestInbox()
    const { send, receiver, reports } = receivingWith(inbox, {
      maxRunSeconds: 30,
      on: {
        'order.created': async (_, ctx) => {
          signal = ctx.signal
          await work.promise
          ctx.tx.write('tickets')
        },
      },
    })
    const order = orderCreated()
    const first = send(order)
    await advance(10)
    await first
    const drain = receiver.drain()
    const drained = watch(drain)
    await advance(19.9)
    expect(drained.isResolved).toBe(false)
    expect(signal?.aborted).toBe(false)
    await advance(0.1)
    await drain
    expect(signal?.aborted).toBe(true)
    expect(reports.map(({ error }) => error.code)).toEqual(['timed_out', 'given_up'])

    work.resolve()
    await advance(0)
    expect(effects).toEqual([])
    // The handler learns that its transaction is over.
    expect(reports.map(({ error }) => error.message).at(-1)).toMatch(/transaction is over/)
    expect(await receivingWith(inbox, { on: { 'order.created': () => {} } }).send(order)).toEqual({
      outcome: 'handled',
    })
  })
})

/** The clock advances and no timer fires, as when the thread is blocked. */
function blockFor(seconds: number): void {
  vi.spyOn(performance, 'now').mockReturnValue(performance.now() + seconds * 1000)
}
