import { answerTo, type Inbox } from 'tix-webhooks'
import { describe, expect, test, vi } from 'vitest'
import { orderCreated } from '../../support/deliveries.js'
import { BOOM } from '../../support/delivering.js'
import { type OnceScript, receivingWith, scriptedInbox } from '../../support/scripted-inbox.js'
import { advance, sleep, useVirtualTime } from '../../support/virtual-time.js'

useVirtualTime()

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
