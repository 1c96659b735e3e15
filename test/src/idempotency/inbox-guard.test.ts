import { AsyncLocalStorage } from 'node:async_hooks'
import { answerTo, type HandlerContext, type Inbox } from 'tix-webhooks'
import { describe, expect, test, vi } from 'vitest'
import { orderCreated, sign } from '../../support/deliveries.js'
import { BOOM } from '../../support/delivering.js'
import { ALL_WELL, honestInbox, type Ledger } from '../../support/honest-inbox.js'
import { SOON } from '../../support/retry-after.js'
import { type OnceScript, receivingWith, scriptedInbox } from '../../support/scripted-inbox.js'
import { advance, useVirtualTime } from '../../support/virtual-time.js'

useVirtualTime()

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
