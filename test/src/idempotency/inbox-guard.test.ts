import { AsyncLocalStorage } from 'node:async_hooks'
import { answerTo, Discard, type HandlerContext, type Inbox, RetryLater } from 'tix-webhooks'
import { describe, expect, test, vi } from 'vitest'
import { lifecycleEvent, orderCreated } from '../../support/deliveries.js'
import { honestInbox, type Ledger } from '../../support/honest-inbox.js'
import { deferred } from '../../support/promises.js'
import { receivingWith, scriptedInbox } from '../../support/scripted-inbox.js'
import { advance, useVirtualTime } from '../../support/virtual-time.js'

useVirtualTime()

type Context = HandlerContext<unknown, Ledger>

const BOOM = new Error('boom')
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

  test('is discarded: nothing that it wrote is kept, and it never runs again', async () => {
    const { inbox, effects } = honestInbox()
    const discard = new Discard('free tickets')
    const handler = vi.fn((_: unknown, { tx }: Context) => {
      tx.write('tickets')
      throw discard
    })
    const { send, reports, records } = receivingWith(inbox, { on: { 'order.created': handler } })
    const order = orderCreated()
    expect(await send(order)).toEqual({ outcome: 'discarded', error: discard })
    expect(await send(order)).toEqual({ outcome: 'duplicate' })
    expect(effects).toEqual([])
    expect(handler).toHaveBeenCalledOnce()
    expect(reports).toEqual([])
    expect(records).toMatchObject([{ outcome: 'discarded', status: 200, error: discard }, {}])
  })

  test.each([
    ['failed', BOOM, { outcome: 'failed', code: 'handler_failed', error: BOOM }, 500, 1],
    [
      'retry_later',
      new RetryLater({ afterSeconds: 77 }),
      { outcome: 'retry_later', code: 'retry_later', retryAfterSeconds: 77 },
      503,
      0,
    ],
  ])(
    'has %s: the transaction ends with the very error, and the retry runs',
    async (_, thrown, outcome, status, reported) => {
      const { inbox: honest, effects } = honestInbox()
      const { inbox, ends } = scriptedInbox((request, work) => honest.once(request, work))
      let fails = true
      const { send, reports, records } = receivingWith(inbox as Inbox<Ledger>, {
        on: {
          'order.created': async (_, { tx }) => {
            tx.write('tickets')
            await null
            if (fails) throw thrown
          },
        },
      })
      const order = orderCreated()
      const first = await send(order)
      expect(first).toMatchObject(outcome)
      expect(answerTo(first).status).toBe(status)
      expect(effects).toEqual([])
      expect((ends[0] as { rejected: unknown }).rejected).toBe(thrown)
      expect(reports).toHaveLength(reported)

      fails = false
      expect(await send(order)).toEqual({ outcome: 'handled' })
      expect(effects).toEqual(['tickets'])
      expect(records).toHaveLength(2)
    },
  )
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

  test('of last resort runs in a transaction as well', async () => {
    const { inbox, effects } = honestInbox()
    const { send } = receivingWith(inbox, { onUnhandled: (event, { tx }) => tx.write(event.type) })
    expect(await send(lifecycleEvent('venue.moved'))).toEqual({ outcome: 'handled' })
    expect(await send(lifecycleEvent('venue.moved'))).toEqual({ outcome: 'duplicate' })
    expect(effects).toEqual(['venue.moved'])
  })
})

test('two endpoints on one inbox do not suppress each other’s events', async () => {
  const { inbox, effects } = honestInbox()
  const order = orderCreated()
  for (const namespace of ['orders', 'mail']) {
    const on = { 'order.created': (_: unknown, { tx }: Context) => tx.write(namespace) }
    const { send } = receivingWith(inbox, { namespace, on })
    expect(await send(order)).toEqual({ outcome: 'handled' })
  }
  expect(effects).toEqual(['orders', 'mail'])
})

/** Some turns of the microtask queue. */
async function someTurns(): Promise<void> {
  for (let i = 0; i < 5; i++) await null
}
