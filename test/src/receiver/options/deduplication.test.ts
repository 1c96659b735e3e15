import { type IdempotencyStore, type Inbox, StoreError, type WebhookOptions } from 'tix-webhooks'
import { redisStore } from 'tix-webhooks/redis'
import { describe, expect, test, vi } from 'vitest'
import { lifecycleEvent, orderCreated, sign } from '../../../support/deliveries.js'
import { honestInbox } from '../../../support/honest-inbox.js'
import { never } from '../../../support/promises.js'
import { receiving, storeWith } from '../../../support/receiving.js'
import { SOON } from '../../../support/retry-after.js'
import { advance, useVirtualTime } from '../../../support/virtual-time.js'

useVirtualTime()

const namespace = 'orders'

/** One backend, and a new client of it for each request. */
function clientPerRequest(options: Partial<WebhookOptions> = {}) {
  const { base } = storeWith({})
  const store = vi.fn((_request: unknown): IdempotencyStore => storeWith({}, base).store)
  const runs: unknown[] = []
  const on = { 'order.created': (_event: unknown, ctx: { attempt?: number }) => runs.push(ctx.attempt) }
  return { ...receiving({ store, namespace, on, ...options }), store, runs, base }
}

describe('a store function', () => {
  test('gets the request of each delivery, and its stores share what they remember', async () => {
    const { send, store, runs, records } = clientPerRequest()
    const order = orderCreated()
    expect(await send(order, { request: 'first' })).toEqual({ outcome: 'handled' })
    expect(await send(order, { request: 'second' })).toEqual({ outcome: 'duplicate' })
    expect(store.mock.calls).toEqual([['first'], ['second']])
    expect(runs).toEqual([1])
    expect(records).toMatchObject([{ attempt: 1 }, { outcome: 'duplicate' }])
  })

  test.each<[string, Partial<WebhookOptions>, () => Promise<object>]>([
    ['a kind that nobody handles', {}, () => sign(lifecycleEvent('event.published'))],
    ['an event without deduplication', { key: () => null }, () => sign(orderCreated())],
  ])('is not called for %s', async (_, options, signed) => {
    const { receiver, store } = clientPerRequest(options)
    await receiver.receive({ ...(await signed()), request: null } as never)
    expect(store).not.toHaveBeenCalled()
  })

  test.each<[string, () => unknown, string, string]>([
    [
      'throws our own TypeError',
      () => redisStore(undefined as never),
      'threw',
      'must be a client of ioredis',
    ],
    ['returns nothing', () => undefined, 'returned undefined', 'store must be an IdempotencyStore'],
    [
      'resolves to a client',
      async () => ({ query() {} }),
      'returned an object',
      'its claim is not a function',
    ],
  ])('that %s makes the delivery misconfigured, and runs nothing', async (_, store, result, cause) => {
    const { send, runs } = clientPerRequest({ store: store as never })
    const { outcome, error } = await send(orderCreated())
    expect(outcome).toBe('misconfigured')
    expect((error as Error).message).toBe(
      `Your store function ${result}: it must return the store for the request.`,
    )
    expect(((error as Error).cause as Error).message).toContain(cause)
    expect(runs).toEqual([])
  })

  test('that makes a store that is no ledger keeps nothing, and asks nothing of it that it does not have', async () => {
    const handler = vi.fn((): unknown => {
      throw new Error('boom')
    })
    const { send, reports } = clientPerRequest({ on: { 'order.created': handler }, maxRunSeconds: 5 })
    const order = orderCreated()
    for (const _ of [1, 2]) expect(await send(order)).toMatchObject({ outcome: 'failed' })
    expect(await send('{')).toMatchObject({ outcome: 'unprocessable' })
    handler.mockImplementation(() => never())
    const sent = send(order)
    await advance(5)
    expect(await sent).toMatchObject({ code: 'given_up' })
    expect(reports.map(({ error }) => error.code ?? error.message)).toEqual([
      'boom',
      'boom',
      'not_json',
      'given_up',
    ])
  })

  test('that rejects is an outage: the sender retries', async () => {
    const store = () => Promise.reject(new Error('no such binding'))
    const { send, runs } = clientPerRequest({ store })
    expect(await send(orderCreated())).toMatchObject({
      outcome: 'unavailable',
      code: 'store_unavailable',
      retryAfterSeconds: SOON,
      error: {
        message: expect.stringMatching(/^Your store function failed/),
        cause: { message: 'no such binding' },
      },
    })
    expect(runs).toEqual([])
  })

  test.each([
    [10, 2],
    [1, 1],
  ])(
    'that hangs has the time limit of a store call, and never more than the deadline of %s s',
    async (timeoutSeconds, givenUpAfter) => {
      const { send, runs } = clientPerRequest({ store: () => never(), timeoutSeconds })
      const outcome = send(orderCreated())
      await advance(givenUpAfter)
      expect(await outcome).toMatchObject({
        outcome: 'unavailable',
        code: 'store_unavailable',
        error: { message: expect.stringMatching(/^Your store function took too long: over 2 s/) },
      })
      expect(runs).toEqual([])
    },
  )
})

const on = { 'order.created': () => {} }

test('an inbox function is called for an event without deduplication too, which gets a plain transaction', async () => {
  const { inbox, asked } = honestInbox()
  const { send } = receiving({ inbox: () => inbox as Inbox<never>, namespace, key: () => null, on })
  expect(await send(orderCreated())).toEqual({ outcome: 'handled' })
  expect(asked).toEqual([null])
})

test('the error of Workers for a client that another request made is reported with its cure', async () => {
  const ofWorkers = 'Cannot perform I/O on behalf of a different request. I/O objects (such as streams, …'
  const error = new StoreError('store_unavailable', 'Postgres could not be reached.', {
    cause: new Error(ofWorkers),
  })
  const { store } = storeWith({ claim: () => Promise.reject(error) })
  const { send } = receiving({ store, namespace, on })
  const outcome = await send(orderCreated())
  expect(outcome).toMatchObject({ outcome: 'unavailable', code: 'store_unavailable' })
  expect((outcome.error as Error).message).toBe(
    "The idempotency store's claim failed: its client was made in another request, which Workers forbid: make both for each request, store: (request) => …",
  )
})
