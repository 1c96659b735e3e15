import { AsyncLocalStorage } from 'node:async_hooks'
import { answerTo, type HandlerContext, type Inbox } from 'tix-webhooks'
import { describe, expect, test, vi } from 'vitest'
import { orderCreated } from '../../support/deliveries.js'
import { honestInbox, type Ledger } from '../../support/honest-inbox.js'
import { deferred } from '../../support/promises.js'
import { receivingWith, scriptedInbox } from '../../support/scripted-inbox.js'
import { advance, useVirtualTime } from '../../support/virtual-time.js'

useVirtualTime()

type Context = HandlerContext<unknown, Ledger>
const WEEK_MS = 604_800_000

describe('with an inbox, a delivery', () => {
  test('is handled when what it wrote is committed, and its next one is a duplicate that opens nothing', async () => {
    const { inbox, effects } = honestInbox()
    const handler = vi.fn((_: unknown, ctx: Context) => ctx.tx.write('tickets'))
    const { send, records, reports } = receivingWith(inbox, { on: { 'order.created': handler } })
    const order = orderCreated({ id: 'ord_1' })

    expect(await send(order)).toEqual({ outcome: 'handled' })
    expect(effects).toEqual(['tickets'])
    expect(await send(order)).toEqual({ outcome: 'duplicate' })
    expect(effects).toEqual(['tickets'])
    expect(handler).toHaveBeenCalledOnce()
    expect(records).toMatchObject([
      { outcome: 'handled', status: 200, kind: 'order.created', key: 'test/order.created/ord_1' },
      { outcome: 'duplicate', status: 200, kind: 'order.created', key: 'test/order.created/ord_1' },
    ])
    for (const record of records) expect(record).not.toHaveProperty('attempt')
    expect(reports).toEqual([])
  })

  test('is in_flight while another one of its event is in a transaction: retry in 5 s', async () => {
    const { inbox, effects } = honestInbox()
    const work = deferred()
    const { send } = receivingWith(inbox, {
      on: {
        'order.created': async (_, { tx }) => {
          await work.promise
          tx.write('tickets')
        },
      },
    })
    const order = orderCreated()
    const first = send(order)
    await advance(0)
    const second = await send(order)
    expect(second).toEqual({ outcome: 'in_flight', code: 'in_flight', retryAfterSeconds: 5 })
    expect(answerTo(second)).toMatchObject({ status: 503, headers: { 'retry-after': '5' } })
    work.resolve()
    expect(await first).toEqual({ outcome: 'handled' })
    expect(await send(order)).toEqual({ outcome: 'duplicate' })
    expect(effects).toEqual(['tickets'])
  })
})

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
