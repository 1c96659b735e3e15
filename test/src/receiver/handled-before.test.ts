import {
  Discard,
  type HandledBeforeContext,
  memoryStore,
  RetryLater,
  type WebhookOptions,
} from 'tix-webhooks'
import { describe, expect, test, vi } from 'vitest'
import { orderCreated, SECRET } from '../../support/deliveries.js'
import { honestInbox } from '../../support/honest-inbox.js'
import { deferred, throws } from '../../support/promises.js'
import { receiving, storeWith } from '../../support/receiving.js'
import { advance, useVirtualTime } from '../../support/virtual-time.js'

useVirtualTime()

/** A receiver that asks whether events were handled before, with a handler that is watched. */
function asking(handledBefore: unknown, options: Partial<WebhookOptions> = {}) {
  const handler = vi.fn()
  const on = { 'order.created': handler, 'event.*': handler }
  return { handler, ...receiving({ on, handledBefore: handledBefore as never, ...options }) }
}

const STORES: readonly [string, () => Partial<WebhookOptions>][] = [
  ['a store', () => ({})],
  ['a store that answers later', () => slowStore()],
  ['an inbox', () => ({ inbox: honestInbox().inbox as never, namespace: 'orders' })],
]

function slowStore(): Partial<WebhookOptions> {
  const base = memoryStore()
  const { store, namespace } = storeWith({ claim: async (request) => base.claim(request) }, base)
  return { store, namespace }
}

describe.each(STORES)('an event that was handled before, with %s', (_, options) => {
  test('is a duplicate that runs nothing, and is recorded, so that it is not asked again', async () => {
    const handledBefore = vi.fn(() => true)
    const { handler, send, records } = asking(handledBefore, options())
    expect(await send(orderCreated({ id: 'ord_1' }))).toEqual({ outcome: 'duplicate' })
    expect(await send(orderCreated({ id: 'ord_1' }))).toEqual({ outcome: 'duplicate' })
    expect(handledBefore).toHaveBeenCalledOnce()
    expect(handler).not.toHaveBeenCalled()
    expect(records).toMatchObject([{ outcome: 'duplicate' }, { outcome: 'duplicate' }])
  })

  test.each<[string, string, string, () => unknown]>([
    ['rejects', 'unavailable', 'handled_before_unavailable', () => Promise.reject(new Error('down'))],
    ['returns the rows that it found', 'misconfigured', 'misconfigured', async () => []],
    [
      'misuses keyIn',
      'misconfigured',
      'misconfigured',
      (...[, { keyIn }]: [unknown, HandledBeforeContext]) => keyIn('two words') === '',
    ],
  ] as never)(
    'is not run while the function %s, and is asked about again',
    async (_how, outcome, code, answer) => {
      const handledBefore = vi.fn(answer as () => unknown).mockName('handledBefore')
      const { handler, send, reports } = asking(handledBefore, options())
      expect(await send(orderCreated({ id: 'ord_1' }))).toMatchObject({ outcome, code })
      expect(handler).not.toHaveBeenCalled()
      expect(reports.map(({ error }) => error.message)).toEqual([
        expect.stringMatching(/^Your handledBefore function/),
      ])
      handledBefore.mockImplementation(() => false)
      expect(await send(orderCreated({ id: 'ord_1' }))).toEqual({ outcome: 'handled' })
      expect(handler).toHaveBeenCalledOnce()
    },
  )

  test('is retried later, or discarded, if the function throws that, and it is no error', async () => {
    const handledBefore = vi.fn<() => boolean>(throws(new RetryLater({ afterSeconds: 60 })))
    const { handler, send, reports } = asking(handledBefore, options())
    expect(await send(orderCreated({ id: 'ord_1' }))).toMatchObject({
      outcome: 'retry_later',
      retryAfterSeconds: 60,
    })
    handledBefore.mockImplementation(throws(new Discard('the old receiver has it')))
    expect(await send(orderCreated({ id: 'ord_1' }))).toMatchObject({ outcome: 'discarded' })
    expect(await send(orderCreated({ id: 'ord_1' }))).toEqual({ outcome: 'duplicate' })
    expect(handler).not.toHaveBeenCalled()
    expect(reports).toEqual([])
  })

  test('is answered at the deadline while the function hangs, and does not run later', async () => {
    const answer = deferred<boolean>()
    const { handler, send, records } = asking(() => answer.promise, { ...options(), timeoutSeconds: 3 })
    const first = send(orderCreated({ id: 'ord_1' }))
    await advance(3)
    expect(await first).toMatchObject({ outcome: 'timed_out', code: 'timed_out' })
    expect(records).toMatchObject([{ error: { message: expect.stringMatching(/before a handler started/) } }])
    answer.resolve(false)
    await advance(0)
    expect(handler).not.toHaveBeenCalled()
    expect(await send(orderCreated({ id: 'ord_1' }))).toEqual({ outcome: 'handled' })
  })
})

test('an event whose lease is lost while the function is asked does not run: another delivery may', async () => {
  const answer = deferred<boolean>()
  const { store, namespace } = storeWith({ renew: () => false })
  const { handler, send } = asking(() => answer.promise, { store, namespace, leaseSeconds: 3 })
  const first = send(orderCreated({ id: 'ord_1' }))
  await advance(1)
  answer.resolve(false)
  expect(await first).toMatchObject({ outcome: 'unavailable', code: 'store_unavailable' })
  expect(handler).not.toHaveBeenCalled()
})

test('the function gets the event, its key, and the delivery', async () => {
  const handledBefore = vi.fn((_event: unknown, _ctx: HandledBeforeContext) => false)
  const { send } = asking(handledBefore)
  await send(orderCreated({ id: 'ord_1' }), { request: 'the request' as never })
  const [event, ctx] = handledBefore.mock.calls[0] as [unknown, HandledBeforeContext]
  expect(event).toMatchObject({ type: 'order.created', data: { order: { id: 'ord_1' } } })
  expect(ctx).toEqual({
    key: 'default/order.created/ord_1',
    keyIn: expect.any(Function),
    account: undefined,
    request: 'the request',
    rawBody: expect.any(Uint8Array),
  })
})

test('keyIn gives the key in another namespace, with and without an account', async () => {
  async function keysWith(options: Partial<WebhookOptions> = {}) {
    const keys: string[] = []
    const handledBefore = (_event: unknown, { keyIn }: HandledBeforeContext): boolean => {
      keys.push(keyIn('old'), keyIn('old', null), keyIn('old', 'acme'))
      return false
    }
    await asking(handledBefore, options).send(orderCreated({ id: 'ord_1' }))
    return keys
  }
  const [none, other] = ['old/order.created/ord_1', 'old/acme/order.created/ord_1']
  expect(await keysWith()).toEqual([none, none, other])
  const account = (() => ({ id: 'mine', secret: SECRET })) as never
  expect(await keysWith({ secret: undefined, account })).toEqual([
    'old/mine/order.created/ord_1',
    none,
    other,
  ])
})
