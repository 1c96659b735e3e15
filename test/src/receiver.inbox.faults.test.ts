import { answerTo, Discard, type HandlerContext, RetryLater, StoreError } from 'tix-webhooks'
import { describe, expect, test, vi } from 'vitest'
import { orderCreated } from '../support/deliveries.js'
import { ALL_WELL, honestInbox, type Ledger, type TransactionFate } from '../support/honest-inbox.js'
import {
  failingWith,
  type OnceScript,
  receivingWith,
  saying,
  scriptedInbox,
} from '../support/scripted-inbox.js'
import { advance, useVirtualTime } from '../support/virtual-time.js'

useVirtualTime()

const BOOM = new Error('boom')
const REFUSED = new Error('connect ECONNREFUSED')

const fails = async (): Promise<never> => {
  throw BOOM
}
const discards = async (): Promise<never> => {
  throw new Discard('free')
}

describe('an inbox that fails', () => {
  test.each<[how: string, once: OnceScript]>([
    ['rejects before it opens a transaction', () => Promise.reject(REFUSED)],
    [
      'throws at once',
      () => {
        throw REFUSED
      },
    ],
  ])('and %s is unavailable: reported, and no handler has run', async (_, once) => {
    const handler = vi.fn()
    const { send, reports, records } = receivingWith(scriptedInbox(once).inbox, {
      on: { 'order.created': handler },
    })
    const outcome = await send(orderCreated({ id: 'ord_1' }))
    expect(outcome).toMatchObject({
      outcome: 'unavailable',
      code: 'store_unavailable',
      retryAfterSeconds: 5,
      error: { cause: REFUSED },
    })
    expect(answerTo(outcome)).toEqual({
      status: 503,
      headers: { 'content-type': 'application/json', 'retry-after': '5' },
      body: '{"outcome":"unavailable"}',
    })
    expect(handler).not.toHaveBeenCalled()
    expect(reports).toMatchObject([
      {
        error: { code: 'store_unavailable' },
        ctx: { kind: 'order.created', key: 'test/order.created/ord_1' },
      },
    ])
    expect(records).toMatchObject([
      { outcome: 'unavailable', status: 503, code: 'store_unavailable', key: 'test/order.created/ord_1' },
    ])
  })

  test.each<[commit: TransactionFate['commit'], kept: string[], next: string]>([
    ['refused', ['second'], 'handled'],
    ['lost reply', ['first'], 'duplicate'],
  ])(
    'at its commit (%s) is unavailable, never handled, and the retry finds out',
    async (commit, kept, next) => {
      const { inbox, effects } = honestInbox({ fates: [{ ...ALL_WELL, commit }] })
      const runs = ['first', 'second']
      const { send, reports } = receivingWith(inbox, {
        on: { 'order.created': (_, { tx }) => tx.write(runs.shift() ?? 'third') },
      })
      const order = orderCreated()
      expect(await send(order)).toMatchObject({ outcome: 'unavailable', code: 'store_unavailable' })
      expect(reports).toHaveLength(1)
      expect(await send(order)).toEqual({ outcome: next })
      expect(effects).toEqual(kept)
    },
  )

  test('to roll back after a handler that failed leaves it failed, with the error of the handler', async () => {
    const { inbox } = scriptedInbox(failingWith(new Error('connection terminated')))
    const { send, reports } = receivingWith(inbox, { on: { 'order.created': fails } })
    const outcome = await send(orderCreated())
    expect(outcome).toEqual({ outcome: 'failed', code: 'handler_failed', error: BOOM })
    expect(answerTo(outcome).status).toBe(500)
    expect(reports.map(({ error }) => error)).toEqual([BOOM])
  })

  test('to roll back after RetryLater keeps its seconds', async () => {
    const { inbox } = scriptedInbox(failingWith(new Error('connection terminated')))
    const { send } = receivingWith(inbox, {
      on: { 'order.created': () => Promise.reject(new RetryLater({ afterSeconds: 77 })) },
    })
    expect(await send(orderCreated())).toMatchObject({ outcome: 'retry-later', retryAfterSeconds: 77 })
  })

  test('to record a discard is unavailable: the retry discards again', async () => {
    const { inbox } = scriptedInbox(failingWith(REFUSED))
    const { send } = receivingWith(inbox, { on: { 'order.created': discards } })
    expect(await send(orderCreated())).toMatchObject({
      outcome: 'unavailable',
      code: 'store_unavailable',
      error: { cause: REFUSED },
    })
  })

  test('inside the handler, with an error of its own, is unavailable and not the handler’s fault', async () => {
    const lost = new StoreError('store_unavailable', 'The connection was lost inside ctx.tx.')
    const { inbox } = scriptedInbox((_, work) => work({ query: () => Promise.reject(lost) }))
    const { send, reports } = receivingWith(inbox, {
      on: { 'order.created': (_, ctx: HandlerContext) => (ctx.tx as { query(): unknown }).query() },
    })
    expect(await send(orderCreated())).toMatchObject({ outcome: 'unavailable', error: lost })
    expect(reports.map(({ error }) => error)).toEqual([lost])
  })

  test('while the handler still runs is unavailable when the handler returns, and no process dies of it', async () => {
    const { inbox } = scriptedInbox(async (_, work) => {
      void work({})
      throw REFUSED
    })
    const { send } = receivingWith(inbox, {
      on: { 'order.created': () => new Promise((resolve) => setTimeout(resolve, 3_000)) },
    })
    const outcome = send(orderCreated())
    await advance(3)
    expect(await outcome).toMatchObject({ outcome: 'unavailable', code: 'store_unavailable' })
  })
})

describe('an inbox that breaks its contract', () => {
  const NEVER_CALLS =
    (result: unknown): OnceScript =>
    async () =>
      result

  test.each<[what: string, once: OnceScript, handler: () => unknown]>([
    ['resolves to nothing', saying(undefined), () => {}],
    ['resolves to "ok"', saying('ok'), () => {}],
    ['resolves to true', saying(true), () => {}],
    ['resolves to itself, as the once of an event emitter does', NEVER_CALLS({ on() {} }), () => {}],
    ['says handled and calls no handler', NEVER_CALLS('handled'), () => {}],
    ['says discarded and calls no handler', NEVER_CALLS('discarded'), () => {}],
    ['says handled after a handler that failed', saying('handled'), fails],
    ['says handled after a Discard', saying('handled'), discards],
    ['says discarded after a handler that returned', saying('discarded'), () => {}],
  ])('and %s is unavailable, never 200', async (_, once, handler) => {
    const { send, reports } = receivingWith(scriptedInbox(once).inbox, { on: { 'order.created': handler } })
    const outcome = await send(orderCreated())
    expect(outcome).toMatchObject({ outcome: 'unavailable', code: 'store_misbehaved', retryAfterSeconds: 5 })
    expect(answerTo(outcome).status).toBe(503)
    expect(reports.map(({ error }) => error.code)).toEqual(['store_misbehaved'])
  })

  test.each<[how: string, once: OnceScript]>([
    [
      'one after the other',
      async (_, work) => {
        await work(1)
        await work(2)
        return 'handled'
      },
    ],
    [
      'at once',
      async (_, work) => {
        await Promise.all([work(1), work(2)])
        return 'handled'
      },
    ],
    [
      'again after it failed',
      async (_, work) => {
        await work(1).catch(() => work(2))
        return 'handled'
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

test('a duplicate that shows at the commit is a duplicate, and nothing of it is kept', async () => {
  const { inbox, effects } = honestInbox({ locks: false })
  const { send, records } = receivingWith(inbox, {
    on: {
      'order.created': async (event, ctx: HandlerContext<unknown, Ledger>) => {
        await null
        ctx.tx.write(event.data.order.id)
      },
    },
  })
  const order = orderCreated({ id: 'ord_1' })
  const both = await Promise.all([send(order), send(order)])
  expect(both.map(({ outcome }) => outcome).sort()).toEqual(['duplicate', 'handled'])
  expect(effects).toEqual(['ord_1'])
  expect(records.map(({ status }) => status)).toEqual([200, 200])
})
