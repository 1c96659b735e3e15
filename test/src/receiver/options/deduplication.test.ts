import { Pool } from 'pg'
import postgres from 'postgres'
import { type IdempotencyStore, type Inbox, memoryStore, StoreError, type WebhookOptions } from 'tix-webhooks'
import { redisStore } from 'tix-webhooks/redis'
import { describe, expect, test, vi } from 'vitest'
import { lifecycleEvent, orderCreated, sign } from '../../../support/deliveries.js'
import { honestInbox } from '../../../support/honest-inbox.js'
import { make } from '../../../support/make-receiver.js'
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
    ['a forged delivery', {}, () => sign(orderCreated(), { secret: 'whsec_forged' })],
    ['a delivery that is too old', {}, () => sign(orderCreated(), { timestamp: 1 })],
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

  test.each<[string, () => never]>([
    ['rejects', () => Promise.reject(new Error('no such binding')) as never],
  ])('that %s is an outage: the sender retries', async (_, store) => {
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

describe('an inbox function', () => {
  const order = orderCreated()

  test('is called for an event without deduplication too, which gets a plain transaction', async () => {
    const { inbox, asked } = honestInbox()
    const { send } = receiving({ inbox: () => inbox as Inbox<never>, namespace, key: () => null, on: ON })
    expect(await send(order)).toEqual({ outcome: 'handled' })
    expect(asked).toEqual([null])
  })
})

const ON = { 'order.created': () => {} }

describe('a receiver is not made', () => {
  test.each<[string, Record<string, unknown>, RegExp]>([
    ['a store function without namespace', { store: () => memoryStore() }, /^namespace is required/],
    [
      'a client that is a function, as the store',
      { store: postgres('postgres://nowhere'), namespace },
      /^store must be an IdempotencyStore/,
    ],
  ])('with %s', (_, options, message) => {
    expect(() => make(options)).toThrow(TypeError)
    expect(() => make(options)).toThrow(message)
  })
})

describe('the error of Workers for a client that another request made', () => {
  const OF_WORKERS = 'Cannot perform I/O on behalf of a different request. I/O objects (such as streams, …'

  test.each<[string, () => unknown]>([
    ['as it is', () => new Error(OF_WORKERS)],
    [
      "within a store's own error",
      () =>
        new StoreError('store_unavailable', 'Postgres could not be reached.', {
          cause: new Error(OF_WORKERS),
        }),
    ],
  ])('is reported with its cure: %s', async (_, error) => {
    const { store } = storeWith({ claim: () => Promise.reject(error()) })
    const { send } = receiving({ store, namespace, on: ON })
    const outcome = await send(orderCreated())
    expect(outcome).toMatchObject({ outcome: 'unavailable', code: 'store_unavailable' })
    expect((outcome.error as Error).message).toBe(
      "The idempotency store's claim failed: its client was made in another request, which Workers forbid: make both for each request, store: (request) => …",
    )
  })
})

const { inbox } = honestInbox()
const NO_INBOX = /^inbox must be an Inbox, such as postgresInbox\(pool\), not a pool or a database/

const REFUSED: readonly [what: string, options: Record<string, unknown>, message: RegExp][] = [
  [
    'an inbox and a store',
    { inbox, store: memoryStore(), namespace: 'orders' },
    /^Pass a store or an inbox, not both: an inbox keeps its own record/,
  ],
  [
    'an inbox without namespace',
    { inbox },
    /^namespace is required with store, inbox and failures: .*namespace: 'orders'.*two endpoints/,
  ],
  ['a client without once as inbox', { inbox: { query() {}, connect() {} }, namespace: 'orders' }, NO_INBOX],
  ['a store as inbox', { inbox: memoryStore(), namespace: 'orders' }, /^inbox is a store: pass it as store/],
  [
    'an inbox as store',
    { inbox: undefined, store: inbox, namespace: 'orders' },
    /^store is an inbox: pass it as inbox/,
  ],
  ['a pool of pg as inbox', { inbox: new Pool(), namespace: 'orders' }, NO_INBOX],
]

describe('a receiver is not made', () => {
  test.each(REFUSED)('with %s', (_, options, message) => {
    expect(() => make(options)).toThrow(TypeError)
    expect(() => make(options)).toThrow(message)
  })
})

describe('a receiver is made', () => {
  test.each([
    ['an inbox and a namespace', {}],
    ['store: undefined', { store: undefined }],
  ])('with %s', async (_, options) => {
    const { inbox, asked } = honestInbox()
    const receiver = make({ inbox, namespace: 'orders', ...options })
    const order = { ...(await sign(orderCreated({ id: 'ord_1' }))), request: null }
    expect(await receiver.receive(order)).toEqual({ outcome: 'handled' })
    expect(asked).toEqual(['orders/order.created/ord_1'])
  })
})
