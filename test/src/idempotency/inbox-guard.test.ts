import { AsyncLocalStorage } from 'node:async_hooks'
import { answerTo, type HandlerContext, type Inbox } from 'tix-webhooks'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { orderCreated, sign } from '../../support/deliveries.js'
import { BOOM } from '../../support/delivering.js'
import { ALL_WELL, honestInbox, type Ledger } from '../../support/honest-inbox.js'
import { deferred, watch } from '../../support/promises.js'
import { SOON } from '../../support/retry-after.js'
import { type OnceScript, receivingWith, scriptedInbox } from '../../support/scripted-inbox.js'
import { advance, useVirtualTime } from '../../support/virtual-time.js'

useVirtualTime()

afterEach(() => {
  vi.restoreAllMocks()
})

type Context = HandlerContext<unknown, Ledger>
const WEEK_MS = 604_800_000

describe('the handler', () => {
  test('gets the very transaction, its key, and no attempt', async () => {
    const tx = { query: () => {} }
    const { inbox, requests } = scriptedInbox(async (_, work) => {
      await work(tx)
      return { status: 'handled' }
    })
    const contexts: HandlerContext[] = []
    const { send } = receivingWith(inbox, {
      retentionSeconds: 300_000,
      on: { 'order.created': (_, ctx) => contexts.push(ctx) },
    })
    await send(orderCreated({ id: 'ord_1' }))
    expect(contexts).toMatchObject([{ key: 'test/order.created/ord_1', deduplicated: true }])
    expect(contexts[0]?.tx).toBe(tx)
    expect(contexts[0]).not.toHaveProperty('attempt')
    expect(requests).toEqual([{ key: 'test/order.created/ord_1', retainMs: 300_000_000, maxRunMs: 300_000 }])
  })

  test('runs in a plain transaction if the key is null, and sees that it is not deduplicated', async () => {
    const { inbox: honest, effects } = honestInbox()
    const { inbox, requests } = scriptedInbox((request, work) => honest.once(request, work))
    const contexts: Context[] = []
    const { send, records } = receivingWith(inbox as Inbox<Ledger>, {
      key: () => null,
      on: {
        'order.created': (_, ctx) => {
          contexts.push(ctx)
          ctx.tx.write('tickets')
        },
      },
    })
    const order = orderCreated()
    expect(await send(order)).toEqual({ outcome: 'handled' })
    expect(await send(order)).toEqual({ outcome: 'handled' })
    expect(contexts).toMatchObject([
      { key: null, deduplicated: false },
      { key: null, deduplicated: false },
    ])
    expect(contexts[0]).not.toHaveProperty('attempt')
    expect(requests[0]).toEqual({ key: null, retainMs: WEEK_MS, maxRunMs: 300_000 })
    expect(effects).toEqual(['tickets', 'tickets'])
    for (const record of records) expect(record).not.toHaveProperty('key')
  })

  test('has the asynchronous context of the transaction, and within it that of the request', async () => {
    const transaction = new AsyncLocalStorage<string>()
    const request = new AsyncLocalStorage<string>()
    const { inbox } = scriptedInbox(async (_, work) => {
      await someTurns()
      await transaction.run('tx 1', () => work({}))
      return { status: 'handled' }
    })
    const seen: unknown[] = []
    const { send } = receivingWith(inbox, {
      on: {
        'order.created': async () => {
          seen.push(transaction.getStore(), request.getStore())
          await someTurns()
          seen.push(transaction.getStore(), request.getStore())
        },
      },
    })
    await request.run('request 1', () => send(orderCreated()))
    expect(seen).toEqual(['tx 1', 'request 1', 'tx 1', 'request 1'])
  })
})

/** Some turns of the microtask queue. */
async function someTurns(): Promise<void> {
  for (let i = 0; i < 5; i++) await null
}

const TIMED_OUT = { outcome: 'timed_out', code: 'timed_out', retryAfterSeconds: 5 }
const UNAVAILABLE = { outcome: 'unavailable', code: 'store_unavailable', retryAfterSeconds: SOON }

describe('a commit that takes its time', () => {
  test('is waited for until the deadline: then it is unavailable, not 200, and goes on', async () => {
    const { inbox, effects } = honestInbox({ fates: [{ ...ALL_WELL, commitTakes: 15 }] })
    const { receiver, send, records, reports } = receivingWith(inbox, {
      on: { 'order.created': (_, { tx }) => tx.write('tickets') },
    })
    const kept: Promise<unknown>[] = []
    const waitUntil = (promise: Promise<unknown>) => kept.push(promise)
    const order = orderCreated()
    const outcome = receiver.receive({ ...(await sign(order)), request: null, waitUntil })
    await advance(9.9)
    expect(records).toEqual([])
    await advance(0.1)
    expect(await outcome).toMatchObject({
      ...UNAVAILABLE,
      error: { message: expect.stringMatching(/not confirmed the commit/) },
    })
    // The first is the delivery itself.
    expect(kept).toHaveLength(2)
    expect(records).toMatchObject([{ outcome: 'unavailable', status: 503, code: 'store_unavailable' }])

    await advance(5)
    expect(await kept[1]).toEqual({ outcome: 'handled' })
    expect(effects).toEqual(['tickets'])
    expect(await send(order)).toEqual({ outcome: 'duplicate' })
    expect(reports).toHaveLength(1)
  })
})

const fails = async (): Promise<never> => {
  throw BOOM
}

describe('an inbox that breaks its contract', () => {
  test.each<[how: string, once: OnceScript]>([
    [
      'one after the other',
      async (_, work) => {
        await work(1)
        await work(2)
        return { status: 'handled' }
      },
    ],
    [
      'at once',
      async (_, work) => {
        await Promise.all([work(1), work(2)])
        return { status: 'handled' }
      },
    ],
    [
      'again after it failed',
      async (_, work) => {
        await work(1).catch(() => work(2))
        return { status: 'handled' }
      },
    ],
  ])(
    'and calls its work twice, %s, runs the handler once, is never 200 and leaves nothing open',
    async (_, once) => {
      const { inbox, ends } = scriptedInbox(once)
      const handler = vi.fn(how(_))
      const { send, receiver } = receivingWith(inbox, { on: { 'order.created': handler } })
      const outcome = send(orderCreated())
      await advance(40)
      expect(handler).toHaveBeenCalledOnce()
      expect(answerTo(await outcome).status).not.toBe(200)
      expect(ends).toHaveLength(2)
      expect(ends).not.toContain('open')
      await receiver.drain()
    },
  )

  function how(name: string): () => unknown {
    return name === 'again after it failed' ? fails : () => {}
  }
})

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
