import { runInNewContext } from 'node:vm'
import { answerTo, createReceiver, memoryStore, RetryLater } from 'tix-webhooks'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { orderCreated, SECRET, sign } from '../../support/deliveries.js'
import { receiving } from '../../support/receiving.js'

afterEach(() => {
  vi.restoreAllMocks()
})

/** Values that a handler throws: some throw when they are inspected. */
const strange: [string, () => unknown][] = [
  ['an error whose message is an object', () => Object.assign(new Error(), { message: Object.create(null) })],
  [
    'a RetryLater whose afterSeconds throws',
    () =>
      Object.defineProperty(new RetryLater({ afterSeconds: 5 }), 'afterSeconds', {
        get: () => {
          throw new Error('again')
        },
      }),
  ],
  ['a promise that rejects', () => Promise.reject(new Error('from an asynchronous wrapper'))],
  [
    'a RetryLater behind a proxy that traps',
    () =>
      new Proxy(new RetryLater({ afterSeconds: 5 }), {
        get: () => {
          throw new Error('again')
        },
      }),
  ],
]

describe('a handler that throws something strange', () => {
  test.each(strange)('has failed, and is answered: %s', async (_, make) => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
    const receiver = createReceiver({
      secret: SECRET,
      on: {
        'order.created': () => {
          throw make()
        },
      },
    })
    const outcome = await receiver.receive({ ...(await sign(orderCreated())), request: null })
    expect(outcome).toMatchObject({ outcome: 'failed', code: 'handler_failed' })
    expect(printed).toHaveBeenCalledOnce()
  })
})

test.each([
  ['of another realm', runInNewContext('new Error("boom")')],
  [
    'of a class that has a name of its own, as that of an aborted fetch',
    new DOMException('boom', 'AbortError'),
  ],
])('a handler that throws an error %s has failed with that very error', async (_, error) => {
  const { send } = receiving({ on: { 'order.created': () => Promise.reject(error) } })
  expect((await send(orderCreated())).error).toBe(error)
})

test.each<[unknown, string]>([
  [Number.NaN, '5'],
  [undefined, '5'],
  ['60', '5'],
  [Number.POSITIVE_INFINITY, '86400'],
  [-1, '1'],
  [1.5, '2'],
])(
  'a RetryLater whose afterSeconds was overwritten by %s says retry-after: %s',
  async (afterSeconds, header) => {
    const { send } = receiving({
      on: {
        'order.created': () => {
          throw Object.assign(new RetryLater({ afterSeconds: 60 }), { afterSeconds })
        },
      },
    })
    const outcome = await send(orderCreated())
    expect(outcome.outcome).toBe('retry_later')
    expect(answerTo(outcome).headers['retry-after']).toBe(header)
  },
)

describe('an async function for an option that must be synchronous', () => {
  const unheard = (): never => Promise.reject(new Error('unheard')) as never

  test.each([
    ['key', { key: unheard }, /returned a promise/],
    ['signedContent', { signature: { signedContent: unheard } }, /returned a promise/],
    ['now', { now: unheard }, /returned a promise/],
    [
      'the clock of a store',
      { store: memoryStore({ now: unheard }), namespace: 'test' },
      /returned a promise/,
    ],
    [
      'each secret of a list',
      { secret: () => [unheard(), unheard()] },
      /secret function returned\[0\] must be a string or a Uint8Array, not a promise/,
    ],
  ])('as %s is misconfigured, and its rejection is not left unhandled', async (_, options, message) => {
    const unhandled = vi.fn()
    process.on('unhandledRejection', unhandled)
    const { send, reports } = receiving({ ...options, on: { 'order.created': () => {} } } as object)
    expect(await send(orderCreated())).toMatchObject({ outcome: 'misconfigured' })
    expect(reports[0]?.error.message).toMatch(message)
    await new Promise(setImmediate)
    process.off('unhandledRejection', unhandled)
    expect(unhandled).not.toHaveBeenCalled()
  })
})
