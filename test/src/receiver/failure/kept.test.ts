import { createHash } from 'node:crypto'
import {
  type Failure,
  type HandlerContext,
  memoryFailures,
  RetryLater,
  StoreError,
  type WebhookOptions,
} from 'tix-webhooks'
import { describe, expect, test, vi } from 'vitest'
import { lifecycleEvent, orderCreated, sign } from '../../../support/deliveries.js'
import { failing as failingWith, KEY, ORDER, slowFailures } from '../../../support/failing-receiver.js'
import { honestInbox } from '../../../support/honest-inbox.js'
import { deferred, never, throws, watch } from '../../../support/promises.js'
import { storeWith } from '../../../support/receiving.js'
import { advance, useVirtualTime } from '../../../support/virtual-time.js'

useVirtualTime()

const MESSAGE = 'the printer is out of paper'
const failing = (options: Partial<WebhookOptions> = {}) => failingWith(options, MESSAGE)

const GUARDS: readonly [string, () => Partial<WebhookOptions>][] = [
  ['the default store', () => ({})],
  ['a store that answers later', laterStore],
  ['an inbox', () => ({ inbox: honestInbox().inbox as never })],
  ['an inbox that is a function', () => ({ inbox: (() => honestInbox().inbox) as never })],
]

function laterStore(): Partial<WebhookOptions> {
  const { base } = storeWith({})
  return { store: storeWith({ claim: async (request) => base.claim(request) }, base).store }
}

describe.each(GUARDS)('with %s', (name, guard) => {
  test('an event that fails is kept with its bytes, once however often it fails, until it is handled', async () => {
    const { failures, handler, send } = failing(guard())
    const { body } = await sign(ORDER)
    for (const attempts of [1, 2]) {
      expect(await send(ORDER)).toMatchObject({ outcome: 'failed', code: 'handler_failed' })
      expect(await failures.list()).toMatchObject([
        {
          key: 'orders/order.created/ord_1',
          namespace: 'orders',
          kind: 'order.created',
          orderId: 'ord_1',
          state: 'failing',
          attempts,
          replays: 0,
          code: 'handler_failed',
          message: MESSAGE,
          rawBody: body,
          secretIndex: 0,
        },
      ])
    }
    if (name.endsWith('a function')) return
    handler.mockImplementation(() => {})
    expect(await send(ORDER)).toEqual({ outcome: 'handled' })
    expect(await failures.count()).toBe(0)
  })

  test('what ends before a run is kept too, and nothing of an event that was handled', async () => {
    const { failures, handler, send } = failing(guard())
    handler.mockImplementation(() => {})
    const broken = { ...ORDER, data: { ...ORDER.data, tickets: 'none' } }
    expect(await send(broken)).toMatchObject({ outcome: 'unprocessable' })
    expect(await failures.list()).toMatchObject([
      { key: 'orders/order.created/ord_1', code: 'data_mismatch', attempts: 1 },
    ])
    expect(await send(ORDER)).toEqual({ outcome: 'handled' })
    expect(await failures.count()).toBe(0)
    if (name.startsWith('an inbox')) return
    expect(await send(broken)).toMatchObject({ outcome: 'unprocessable' })
    expect(await failures.count()).toBe(0)
  })

  test('an event that cannot be read is kept though another delivery of it has the lease, and fails to keep it', async () => {
    const failures = memoryFailures()
    const keep = vi.fn(failures.keep).mockImplementationOnce(never)
    const broken = { ...ORDER, data: { ...ORDER.data, tickets: 'none' } }
    const { send } = failing({ ...guard(), failures: { ...failures, keep } })
    const sent = Promise.all([send(broken), send(broken)])
    await advance(5)
    expect(await sent).toMatchObject([{ outcome: 'unprocessable' }, { outcome: 'unprocessable' }])
    expect(await failures.list()).toMatchObject([{ code: 'data_mismatch', attempts: 1 }])
    // The one that never ends is given up.
    await advance(10)
  })

  test('an event that never failed asks the failures for nothing if the store counts its attempts, and neither does its duplicate', async () => {
    const failures = memoryFailures()
    const get = vi.spyOn(failures, 'get')
    const { handler, send } = failing({ failures, ...guard() })
    handler.mockImplementation(() => {})
    expect(await send(ORDER)).toEqual({ outcome: 'handled' })
    expect(await send(ORDER)).toEqual({ outcome: name.endsWith('a function') ? 'handled' : 'duplicate' })
    expect(get.mock.calls.length > 0).toBe(name !== 'a store that answers later')
  })
})

test.each(GUARDS.slice(0, 3))(
  'with %s, a replay removes the failure that a version without failures, or a process that died, has left',
  async (name, guard) => {
    const { failures, handler, receiver, send } = failing(guard())
    await send(ORDER)
    const [left] = await failures.list()
    handler.mockImplementation(() => {})
    await send(ORDER)
    if (left !== undefined) await failures.keep({ ...left, failedAt: left.lastAt, isReplay: false })
    expect(await send(ORDER)).toEqual({ outcome: 'duplicate' })
    // Beside an inbox each event is looked up, so that its duplicate has removed it.
    const outcome = name === 'an inbox' ? undefined : { outcome: 'duplicate' }
    expect(await receiver.replay(left?.key ?? '')).toEqual(outcome)
    expect(await failures.count()).toBe(0)
  },
)

test('with a store, the failure is removed before the event is completed: a process that dies in between leaves none', async () => {
  const { store } = storeWith({})
  const complete = vi.spyOn(store, 'complete')
  const { failures, handler, send } = failing({ store })
  const remove = vi.spyOn(failures, 'delete')
  await send(ORDER)
  handler.mockImplementation(() => {})
  expect(await send(ORDER)).toEqual({ outcome: 'handled' })
  const [[removed], [completed]] = [remove.mock.invocationCallOrder, complete.mock.invocationCallOrder]
  expect(removed).toBeLessThan(completed ?? 0)
})

const bytesKey = (body: string | Uint8Array): string =>
  `orders/sha256:${createHash('sha256').update(body).digest('hex')}`

describe('which deliveries are kept', () => {
  const invalid = new Uint8Array([0xff, 0xfe, 0x00, 0x7b])

  test.each<[string, object | string | Uint8Array, Partial<WebhookOptions>, Partial<Failure>]>([
    [
      'RetryLater',
      ORDER,
      { on: { 'order.created': throws(new RetryLater({ afterSeconds: 5, reason: 'closed' })) } },
      { code: 'retry_later', message: 'closed' },
    ],
    [
      'bytes that are no text',
      invalid,
      {},
      { key: bytesKey(invalid), kind: '', code: 'not_json', rawBody: invalid },
    ],
    [
      'an event that is about an event',
      lifecycleEvent('event.published', { event: { id: 'evt_7' } }),
      {},
      { eventId: 'evt_7' },
    ],
  ])('%s', async (_, payload, options, expected) => {
    const { failures, receiver } = failing(options)
    await receiver.receive({ ...(await sign(payload)), request: null })
    await advance(1)
    expect(await failures.list()).toMatchObject([expected])
  })

  test('nothing that was not verified, or that no handler takes, or that passes by itself', async () => {
    const { failures, receiver, send } = failing({ onUnhandled: undefined })
    const signed = await sign(ORDER)
    await receiver.receive({ ...signed, body: new TextEncoder().encode('forged'), request: null })
    await send({ ...ORDER, type: 'order.shipped' })
    const down = failing({ store: storeWith({ claim: () => Promise.reject(new Error('down')) }).store })
    expect(await down.send(ORDER)).toMatchObject({ outcome: 'unavailable' })
    expect([await failures.count(), await down.failures.count()]).toEqual([0, 0])
  })

  test('what was sent, though the handler changes what it was given', async () => {
    const { failures, handler, send } = failing()
    handler.mockImplementation(((event: { data?: unknown }, ctx: HandlerContext) => {
      delete event.data
      ctx.signedAt.setTime(0)
      structuredClone(ctx.rawBody.buffer, { transfer: [ctx.rawBody.buffer as ArrayBuffer] })
      throw new Error('after that')
    }) as never)
    const { body } = await sign(ORDER)
    await send(ORDER)
    const [failure] = await failures.list()
    expect(failure).toMatchObject({ orderId: 'ord_1', rawBody: body, message: 'after that' })
    expect(failure?.signedAt.getTime()).toBeGreaterThan(0)
  })

  test.each(GUARDS.slice(0, 3))('a handler that is given up, with %s', async (_, guard) => {
    const { failures, handler, send } = failing({ maxRunSeconds: 5, ...guard() })
    handler.mockImplementation(() => never())
    const answered = send(ORDER)
    await advance(5)
    expect(await answered).toMatchObject({ outcome: 'timed_out', code: 'given_up' })
    await advance(1)
    expect(await failures.list()).toMatchObject([{ code: 'given_up', attempts: 1 }])
  })

  test.each([
    ['succeeds', () => {}, []],
    ['fails', throws(new Error('late')), [{ code: 'given_up', attempts: 1 }]],
  ])('a handler that was given up, until it succeeds: one that %s', async (_, end, kept) => {
    const running = deferred()
    const { failures, handler, send } = failing({ maxRunSeconds: 5 })
    handler.mockImplementation(() => running.promise.then(end))
    const answered = send(ORDER)
    await advance(5)
    await answered
    expect(await failures.count()).toBe(1)
    running.resolve()
    await advance(1)
    expect(await failures.list()).toMatchObject(kept)
  })
})

const PARKING = [...GUARDS.slice(0, 3), ['no key', () => ({ key: () => null })]] as typeof GUARDS

describe.each(PARKING)('with %s, a failure that is parked', (_, guard) => {
  test('the attempt that reaches parkAfter is answered 200 and reported, and nothing runs from then on', async () => {
    const { failures, handler, send, records, reports } = failing({ ...guard(), parkAfter: { attempts: 2 } })
    expect(await send(ORDER)).toMatchObject({ outcome: 'failed' })
    expect(await send(ORDER)).toEqual({ outcome: 'parked', error: new Error(MESSAGE) })
    expect(await send(ORDER)).toEqual({ outcome: 'parked' })
    expect(handler).toHaveBeenCalledTimes(2)
    expect(records.map(({ outcome, status }) => [outcome, status])).toEqual([
      ['failed', 500],
      ['parked', 200],
      ['parked', 200],
    ])
    expect(reports.map(({ error }) => error.message)).toEqual([MESSAGE, MESSAGE])
    expect(await failures.list()).toMatchObject([{ state: 'parked', attempts: 2 }])
  })

  test('a replay runs it, and one that fails leaves it parked, and counts', async () => {
    const { failures, handler, receiver, send } = failing({ ...guard(), parkAfter: { attempts: 1 } })
    expect(await send(ORDER)).toMatchObject({ outcome: 'parked' })
    const [{ key } = { key: '' }] = await failures.list()
    expect(await receiver.replay(key)).toMatchObject({ outcome: 'failed', code: 'handler_failed' })
    expect(await failures.list()).toMatchObject([{ state: 'parked', attempts: 2, replays: 1 }])
    expect(await send(ORDER)).toEqual({ outcome: 'parked' })
    handler.mockImplementation(() => {})
    expect(await receiver.replay(key)).toEqual({ outcome: 'handled' })
    expect(await failures.count()).toBe(0)
    expect(handler).toHaveBeenCalledTimes(3)
  })
})

test('by hours since the first failure', async () => {
  const { send } = failing({ parkAfter: { hours: 24 } })
  expect(await send(ORDER)).toMatchObject({ outcome: 'failed' })
  await advance(24 * 3600 - 1)
  expect(await send(ORDER)).toMatchObject({ outcome: 'failed' })
  await advance(1)
  expect(await send(ORDER)).toMatchObject({ outcome: 'parked' })
})

test('an event that cannot be read is parked too', async () => {
  const { handler, receiver, failures, send } = failing({ parkAfter: { attempts: 2 } })
  for (const payload of ['{', { ...ORDER, data: {} }]) {
    expect(await send(payload)).toMatchObject({ outcome: 'unprocessable' })
    expect(await send(payload)).toMatchObject({ outcome: 'parked', error: expect.any(Error) })
    expect(await send(payload)).toMatchObject({ outcome: 'parked' })
    await advance(1)
  }
  expect(await failures.count({ state: 'parked' })).toBe(2)
  expect(await receiver.replay({})).toMatchObject([{ code: 'not_json' }, { code: 'data_mismatch' }])
  expect(handler).not.toHaveBeenCalled()
})

test('a failure of an event in flight is kept once that is over', async () => {
  const { inbox } = honestInbox()
  const keep = vi.fn(async () => 'failing' as const).mockResolvedValueOnce('in_flight' as never)
  const joined = {
    ...(inbox as object),
    joinFailures: () => ({ once: (inbox as { once: unknown }).once, keep }),
  }
  const { send, reports } = failing({ inbox: joined as never })
  await send(ORDER)
  await advance(60)
  expect(keep).toHaveBeenCalledTimes(2)
  expect(reports).toHaveLength(1)
})

const refusingCommit = {
  async once(_: unknown, work: (tx: unknown) => Promise<void>) {
    await work({})
    throw new StoreError('rolled_back', 'refused')
  },
} as never

test('a COMMIT that is refused parks with its error, and a replay says what happened', async () => {
  const { handler, receiver, send } = failing({ inbox: refusingCommit, parkAfter: { attempts: 1 } })
  handler.mockImplementation(() => {})
  expect(await send(ORDER)).toMatchObject({ outcome: 'parked', error: { code: 'rolled_back' } })
  expect(await receiver.replay(KEY)).toMatchObject({ outcome: 'unavailable', code: 'rolled_back' })
})

test.each<[string, Partial<WebhookOptions>, object | string]>([
  ['a handler that fails', {}, ORDER],
  ['a body that cannot be read', {}, '{'],
  ['a COMMIT that is refused', { inbox: refusingCommit, on: { 'order.created': () => {} } }, ORDER],
])(
  '%s is answered by the deadline though it is kept later, and a drain waits for that',
  async (_, options, payload) => {
    const { failures, finish } = slowFailures()
    const { receiver, send, reports } = failing({ failures, timeoutSeconds: 1, ...options })
    const answered = watch(send(payload))
    await advance(1)
    expect(answered.isResolved).toBe(true)
    const drained = watch(receiver.drain())
    await advance(0.5)
    expect(drained.isResolved).toBe(false)
    finish()
    await advance(1)
    expect(drained.isResolved).toBe(true)
    expect(reports.map(({ error }) => error.code)).not.toContain('not_kept')
  },
)

describe('a backend of failures that fails', () => {
  const broken: readonly [string, () => never | Promise<never>][] = [
    ['throws', throws(new Error('down: password=hunter2'))],
    ['never answers', () => never() as Promise<never>],
  ]

  test.each(broken)('changes no answer, and is reported, if it %s', async (_, fail) => {
    const failures = { ...memoryFailures(), keep: fail, get: fail, delete: fail }
    const { handler, send, reports } = failing({ failures })
    const first = send(ORDER)
    await advance(15)
    expect(await first).toMatchObject({ outcome: 'failed' })
    expect(reports.map(({ error }) => error.code ?? error.message).sort()).toEqual([
      'not_kept',
      'not_kept',
      MESSAGE,
    ])
    handler.mockImplementation(() => {})
    // After a call that took too long there is a pause.
    await advance(10)
    const second = send(ORDER)
    await advance(10)
    expect(await second).toEqual({ outcome: 'handled' })
    expect(reports.slice(3).map(({ error }) => error.code)).toEqual(['not_kept', 'not_kept'])
  })
})

test('a look-up that hangs leaves the handler time to run, and the answer comes by the deadline', async () => {
  const failures = { ...memoryFailures(), get: never as never }
  const { handler, send } = failing({ failures, timeoutSeconds: 1 })
  handler.mockImplementation(() => {})
  const answered = send(ORDER)
  await advance(1)
  expect(await answered).toEqual({ outcome: 'handled' })
  expect(handler).toHaveBeenCalledOnce()
  await advance(2)
})

test('after a look-up that took too long, none is made for ten seconds, and it is reported once', async () => {
  const base = memoryFailures()
  const get = vi.fn(base.get).mockImplementationOnce(never)
  const { handler, send, reports } = failing({ failures: { ...base, get } })
  handler.mockImplementation(() => {})
  const first = send(ORDER)
  await advance(2)
  expect(await first).toEqual({ outcome: 'handled' })
  for (let i = 0; i < 5; i++) {
    expect(await send(orderCreated({ id: `ord_2${i}` }))).toEqual({ outcome: 'handled' })
  }
  expect(get).toHaveBeenCalledTimes(1)
  expect(reports.map(({ error }) => error.code)).toEqual(['not_kept'])
  await advance(10)
  await send(orderCreated({ id: 'ord_3' }))
  expect(get).toHaveBeenCalledTimes(2)
})

test('a look-up that is late because the event loop was blocked is made again: a parked event stays parked', async () => {
  const base = memoryFailures()
  const get = vi.fn(base.get)
  const { handler, send } = failing({ failures: { ...base, get }, parkAfter: { attempts: 1 } })
  expect(await send(ORDER)).toMatchObject({ outcome: 'parked' })
  get.mockImplementationOnce(() => {
    vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 3_000)
    return never() as never
  })
  const sent = send(ORDER)
  await advance(2)
  expect(await sent).toMatchObject({ outcome: 'parked' })
  vi.restoreAllMocks()
  expect(handler).toHaveBeenCalledTimes(1)
})

test('an event that fails gives its place back before it is kept', async () => {
  const failures = { ...memoryFailures(), keep: never as never }
  const { handler, send } = failing({ failures, concurrency: 1 })
  const failed = send(ORDER)
  await advance(0.1)
  handler.mockImplementation(() => {})
  expect(await send(orderCreated({ id: 'ord_2' }))).toEqual({ outcome: 'handled' })
  await advance(2)
  expect(await failed).toMatchObject({ outcome: 'failed' })
  await advance(10)
})
