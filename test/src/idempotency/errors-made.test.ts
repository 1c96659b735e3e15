import { type Inbox, memoryStore, WebhookError } from 'tix-webhooks'
import { expect, onTestFinished, test } from 'vitest'
import { orderCreated } from '../../support/deliveries.js'
import { receiving } from '../../support/receiving.js'

/** An inbox in one turn, without the transaction. */
const inbox: Inbox<null> = {
  async once(_, work) {
    await work(null)
    return { status: 'handled' }
  },
}

/** Counts the errors of this package that are made until the test ends. */
function countErrors(): { made: number } {
  const count = { made: 0 }
  class Counted extends Error {
    constructor(message?: string, options?: ErrorOptions) {
      super(message, options)
      count.made++
    }
  }
  Object.setPrototypeOf(WebhookError, Counted)
  onTestFinished(() => void Object.setPrototypeOf(WebhookError, Error))
  return count
}

test.each([
  ['an inbox', { inbox }],
  ['a store', { store: memoryStore() }],
])(
  'a delivery that succeeds with %s makes no error: its stack costs more than the HMAC',
  async (_, guarded) => {
    const { send } = receiving({
      namespace: 'test',
      ...guarded,
      on: { 'order.created': async () => {} },
    } as never)
    const count = countErrors()
    expect(await send(orderCreated())).toMatchObject({ outcome: 'handled' })
    expect(count.made).toBe(0)
    // The counter works.
    new WebhookError('code', 'message')
    expect(count.made).toBe(1)
  },
)
