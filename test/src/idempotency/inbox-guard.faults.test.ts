import { answerTo, type HandlerContext, type Inbox } from 'tix-webhooks'
import { describe, expect, test, vi } from 'vitest'
import { orderCreated } from '../../support/deliveries.js'
import { BOOM } from '../../support/delivering.js'
import { ALL_WELL, honestInbox, type Ledger, type TransactionFate } from '../../support/honest-inbox.js'
import { type OnceScript, receivingWith, scriptedInbox } from '../../support/scripted-inbox.js'
import { advance, sleep, useVirtualTime } from '../../support/virtual-time.js'

useVirtualTime()

const fails = async (): Promise<never> => {
  throw BOOM
}

describe('an inbox that fails', () => {
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
})

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

test('an inbox that does not wait for its work misbehaves, and the error of the handler is not left unhandled', async () => {
  const unhandled = vi.fn()
  process.on('unhandledRejection', unhandled)
  const inbox: Inbox<unknown> = {
    once: async (_, work) => {
      void work(undefined)
      await sleep(1)
      return { status: 'handled' }
    },
  }
  const { send } = receivingWith(inbox, { on: { 'order.created': fails } })
  const outcome = send(orderCreated())
  await advance(1)
  expect(await outcome).toMatchObject({ code: 'store_misbehaved' })
  await advance(1)
  process.off('unhandledRejection', unhandled)
  expect(unhandled).not.toHaveBeenCalled()
})
