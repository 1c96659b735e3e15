import { createHash } from 'node:crypto'
import {
  type Failure,
  type Failures,
  type HandlerContext,
  memoryFailures,
  memoryStore,
  RetryLater,
  StoreError,
  type WebhookOptions,
} from 'tix-webhooks'
import { describe, expect, test, vi } from 'vitest'
import { lifecycleEvent, orderCreated, SECRET, sign } from '../../../support/deliveries.js'
import { honestInbox } from '../../../support/honest-inbox.js'
import { deferred, never, throws, watch } from '../../../support/promises.js'
import { receiving, storeWith } from '../../../support/receiving.js'
import { advance, sleep, useVirtualTime } from '../../../support/virtual-time.js'

useVirtualTime()

const MESSAGE = 'the printer is out of paper'
const ORDER = orderCreated({ id: 'ord_1' })
/** The key of that order. */
const KEY = 'orders/order.created/ord_1'

/** A receiver that keeps failures, with a handler that is watched and throws. */
function failing(options: Partial<WebhookOptions> = {}) {
  const failures = memoryFailures()
  const handler = vi.fn((..._: unknown[]): unknown => {
    throw new Error(MESSAGE)
  })
  const on = { 'order.created': handler, 'event.*': handler }
  return { failures, handler, ...receiving({ on, failures, namespace: 'orders', ...options }) }
}

const rolledBack = (): StoreError => new StoreError('rolled_back', 'of another transaction')

/** Failures that keep nothing before `finish` is called. */
function slowFailures(): { failures: Failures; finish: () => void } {
  const failures = memoryFailures()
  const slow = deferred()
  const keep: Failures['keep'] = (failed) => slow.promise.then(() => failures.keep(failed))
  return { failures: { ...failures, keep }, finish: () => slow.resolve() }
}

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
          key: KEY,
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
    expect(await failures.list()).toMatchObject([{ key: KEY, code: 'data_mismatch', attempts: 1 }])
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

  test.each<[string, Partial<WebhookOptions>]>([
    ['an inbox', { inbox: { once: () => Promise.reject(rolledBack()) } as never }],
    ['a store', { store: storeWith({ claim: () => Promise.reject(rolledBack()) }).store }],
    ['handledBefore', { handledBefore: throws(new RetryLater({ afterSeconds: 5 })) as () => boolean }],
    ['handledBefore, given up', { handledBefore: () => never(), maxRunSeconds: 5 }],
  ])('nothing before the handler is called, whatever the error: of %s', async (_, options) => {
    const { failures, handler, send } = failing({ parkAfter: { attempts: 1 }, ...options })
    const sent = send(ORDER)
    await advance(6)
    expect((await sent).outcome).toMatch(/^(unavailable|retry_later|timed_out)$/)
    expect(handler).not.toHaveBeenCalled()
    expect(await failures.count()).toBe(0)
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

describe('a replay', () => {
  test('gives the handler the event and the context of the delivery', async () => {
    const { handler, receiver, send, records } = failing({ secret: ['another secret', SECRET] })
    const { body } = await sign(ORDER)
    await send(ORDER)
    const [, live] = handler.mock.calls[0] as [unknown, HandlerContext]
    handler.mockImplementation(() => {})
    expect(await receiver.replay(KEY)).toEqual({ outcome: 'handled' })
    const [event, ctx] = handler.mock.calls[1] as [unknown, HandlerContext]
    expect(event).toEqual(ORDER)
    expect(Object.fromEntries(Object.entries(ctx))).toEqual({
      key: KEY,
      attempt: 2,
      deduplicated: true,
      replayed: true,
      signedAt: live.signedAt,
      secretIndex: 1,
      rawBody: body,
      account: undefined,
      platform: undefined,
      tx: undefined,
    })
    expect(live.replayed).toBe(false)
    expect(() => ctx.request).toThrow(/This is a replay without a request: pass one/)
    expect(records).toMatchObject([{ outcome: 'failed' }, { outcome: 'handled', key: KEY, replayed: true }])
  })

  test('what could not be read is read again', async () => {
    const failures = memoryFailures()
    const broken = { ...ORDER, data: { ...ORDER.data, tickets: null } }
    const before = failing({ failures })
    await before.send(broken)
    await advance(1)
    await before.send('{"type":')
    const handler = vi.fn()
    const unchecked = {
      '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
    }
    const after = failing({
      failures,
      on: { 'order.created': handler },
      schemas: { 'order.created': unchecked } as never,
    })
    const replayed = await after.receiver.replay({})
    expect(replayed.map(({ key, outcome }) => [key, outcome])).toEqual([
      [KEY, 'handled'],
      [expect.stringMatching(/^orders\/sha256:[\da-f]{64}$/), 'unprocessable'],
    ])
    expect(handler).toHaveBeenCalledOnce()
  })

  test('the key is that of the failure, also if the key function needs a request', async () => {
    const failures = memoryFailures()
    const key = vi.fn((_event: unknown, ctx: { request: unknown }) => String(ctx.request))
    const { handler, receiver, send } = failing({ failures, key })
    await send(ORDER, { request: 'r1' })
    expect(await failures.list()).toMatchObject([{ key: 'orders/order.created/r1' }])
    handler.mockImplementation(() => {})
    expect(await receiver.replay('orders/order.created/r1')).toEqual({ outcome: 'handled' })
    expect(key).toHaveBeenCalledOnce()
    expect(await send(ORDER, { request: 'r1' })).toEqual({ outcome: 'duplicate' })
  })

  describe('several', () => {
    test('those that match, the longest failed first, each once, and at most the limit', async () => {
      const { failures, handler, receiver, send } = failing()
      for (let i = 0; i < 30; i++) {
        await send(orderCreated({ id: `ord_${i}` }))
        await advance(1)
      }
      await send(lifecycleEvent('event.published'))
      const first = await receiver.replay({ kind: 'order.created', limit: 25 })
      expect(new Set(first.map(({ key }) => key))).toEqual(
        new Set(Array.from({ length: 25 }, (_, i) => `orders/order.created/ord_${i}`)),
      )
      expect(new Set(first.map(({ outcome }) => outcome))).toEqual(new Set(['failed']))
      handler.mockImplementation(() => {})
      await advance(1)
      const [group] = await failures.groups()
      const second = await receiver.replay({ group: group?.group, limit: 1_000 })
      expect(second).toHaveLength(31)
      expect(new Set(second.map(({ outcome }) => outcome))).toEqual(new Set(['handled']))
      expect(await receiver.replay({})).toEqual([])
    })

    test('those that no handler takes any more do not keep the others from their turn', async () => {
      const failures = memoryFailures()
      const before = failing({ failures })
      for (let i = 0; i < 25; i++)
        await before.send(lifecycleEvent('event.cancelled', { event: { id: `evt_${i}` } }))
      await advance(1)
      await before.send(ORDER)
      const after = failing({ failures, on: { 'order.created': () => {} } })
      const replayed = await after.receiver.replay({ limit: 3 })
      expect(replayed.map(({ outcome }) => outcome).filter((outcome) => outcome !== 'unhandled')).toEqual([
        'handled',
      ])
      expect(await failures.count()).toBe(25)
    })

    test('those that fail again do not hide the others, though these are dated later, by the clock of another process', async () => {
      const failures = memoryFailures()
      const { receiver, send } = failing({ failures })
      for (let i = 0; i < 30; i++) await send(orderCreated({ id: `ord_${i}` }))
      const others = (await failures.list({ order: 'oldest' })).slice(20)
      const ahead = new Date(Date.now() + 60_000)
      for (const other of others) await failures.keep({ ...other, failedAt: ahead, isReplay: false })
      await advance(1)
      expect(new Set((await receiver.replay({})).map(({ key }) => key)).size).toBe(30)
    })
  })

  test('the failures of another namespace are not found', async () => {
    const failures = memoryFailures()
    const one = failing({ failures })
    await one.send(ORDER)
    const other = failing({ failures, namespace: 'listing' })
    expect(await other.receiver.replay(KEY)).toBeUndefined()
    expect(await other.receiver.replay({})).toEqual([])
  })

  describe('with accounts', () => {
    const accounts = { acme: { id: 'acme', secret: SECRET }, globex: { id: 'globex', secret: SECRET } }
    const account = (request: string) => accounts[request as keyof typeof accounts]

    test('an account replays its own failures alone', async () => {
      const { handler, receiver, send } = failing({ secret: undefined, account: account as never } as never)
      for (const request of ['acme', 'globex']) await send(ORDER, { request })
      handler.mockImplementation(() => {})
      expect(await receiver.replay('orders/globex/order.created/ord_1', { request: 'acme' })).toBeUndefined()
      expect(await receiver.replay({}, { request: 'acme' })).toMatchObject([
        { key: 'orders/acme/order.created/ord_1', outcome: 'handled' },
      ])
      const [, ctx] = handler.mock.calls.at(-1) as [unknown, HandlerContext<string>]
      expect([ctx.account, ctx.request]).toEqual([accounts.acme, 'acme'])
      await expect(receiver.replay({ account: 'globex' }, { request: 'acme' })).rejects.toThrow(
        /An account replays its own failures alone/,
      )
      await expect(receiver.replay({})).rejects.toThrow(/replay needs a request, because the option account/)
      await expect(receiver.replay({}, { request: 'initech' })).rejects.toThrow(/knows no account/)
    })

    test('an account function that fails: its error is the cause, and no sender retries', async () => {
      const down = new Error('ECONNREFUSED')
      const { receiver } = failing({ secret: undefined, account: throws(down) } as never)
      await expect(receiver.replay({}, { request: 'acme' })).rejects.toMatchObject({
        code: 'account_unavailable',
        message: 'Your account function failed: nothing was replayed.',
        cause: down,
      })
    })
  })

  test('a store that is a function needs a request', async () => {
    const store = memoryStore()
    const { receiver, send, handler } = failing({ store: () => store })
    await send(ORDER)
    handler.mockImplementation(() => {})
    await expect(receiver.replay(KEY)).rejects.toThrow(/replay needs a request, because the option store/)
    expect(await receiver.replay(KEY, { request: {} })).toEqual({ outcome: 'handled' })
  })

  test('without failures, or with failures that cannot be read, it rejects', async () => {
    const { receiver } = receiving({})
    await expect(receiver.replay(KEY)).rejects.toThrow(/replay needs the option failures/)
    const down = { ...memoryFailures(), get: () => Promise.reject(new Error('down')) }
    await expect(failing({ failures: down }).receiver.replay(KEY)).rejects.toThrow('down')
    await expect(failing().receiver.replay({ limit: 0 })).rejects.toThrow(/limit must be/)
    await expect(failing().receiver.replay({ orderId: 'x' } as never)).rejects.toThrow(/no option orderId/)
    expect(await failing().receiver.replay('nothing')).toBeUndefined()
  })

  test('a store function that fails where a failure is kept is reported, and the failure is kept', async () => {
    const { failures, send, reports } = failing({ store: throws(new Error('no binding')) as never })
    expect(await send('{')).toMatchObject({ outcome: 'unprocessable' })
    expect(await failures.count()).toBe(1)
    expect(reports.map(({ error }) => error.code)).toEqual(['store_unavailable', 'not_json'])
  })

  test('a draining receiver replays nothing', async () => {
    const { receiver, send, handler } = failing()
    await send(ORDER)
    await receiver.drain()
    expect(await receiver.replay(KEY)).toMatchObject({ outcome: 'unavailable', code: 'draining' })
    expect(await receiver.replay({})).toMatchObject([{ key: KEY, code: 'draining' }])
    expect(handler).toHaveBeenCalledOnce()
  })

  test.each<[unknown, RegExp]>([
    [undefined, /replay needs the key of a failure, or a filter such as \{ group \}, not undefined/],
    [{ key: KEY }, /replay takes the key itself/],
    [{ group: undefined }, /group is undefined, which would not narrow the replay/],
    ['', /^key must be 1 to 255 characters long, and this one is empty/],
    [new Date(), /filter of replay must be a plain object/],
    [Object.create({ group: 'a' }), /filter of replay must be a plain object/],
  ])('replay of %o is refused', async (what, message) => {
    await expect(failing().receiver.replay(what as never)).rejects.toThrow(message)
  })

  test.each<[string, Partial<WebhookOptions>, number]>([
    ['as the failures are kept, 30 days by default', {}, 30],
    ['of the failures', { failures: memoryFailures({ retentionSeconds: 40 * 86_400 }) }, 40],
    ['of its own, if it has one', { retentionSeconds: 8 * 86_400 }, 8],
  ])('what was handled is remembered for as long %s', async (_, options, days) => {
    const { store, namespace } = storeWith({})
    const complete = vi.fn(store.complete)
    const { handler, send } = failing({ store: { ...store, complete }, namespace, ...options })
    handler.mockImplementation(() => {})
    await send(ORDER)
    expect(complete).toHaveBeenCalledWith(expect.anything(), days * 86_400_000)
  })

  test('failures that hang: it rejects', async () => {
    const { receiver } = failing({ failures: { ...memoryFailures(), get: never as never } })
    const rejected = expect(receiver.replay(KEY)).rejects.toMatchObject({ code: 'store_unavailable' })
    await advance(10)
    await rejected
  })

  test('few run at once, though they outlive their answers', async () => {
    const { handler, receiver, send } = failing({ timeoutSeconds: 1 })
    for (let i = 0; i < 40; i++) await send(orderCreated({ id: `ord_${i}` }))
    let [running, most] = [0, 0]
    handler.mockImplementation(async () => {
      most = Math.max(most, ++running)
      await sleep(5)
      running -= 1
    })
    const replayed = receiver.replay({})
    await advance(60)
    expect((await replayed).map(({ outcome }) => outcome)).toEqual(Array(40).fill('timed_out'))
    expect([most, running]).toEqual([4, 0])
  })

  test('those whose handlers hang hold up the others until they are given up', async () => {
    const { handler, receiver, send } = failing({ timeoutSeconds: 1, maxRunSeconds: 10 })
    for (let i = 0; i < 5; i++) await send(orderCreated({ id: `ord_${i}` }))
    handler.mockImplementation(never)
    const replayed = watch(receiver.replay({}))
    await advance(50)
    expect(replayed.isResolved).toBe(false)
    await advance(10)
    expect(replayed.isResolved).toBe(true)
    await advance(10)
  })

  test('a drain ends a replay of many', async () => {
    const { handler, receiver, send } = failing()
    for (let i = 0; i < 25; i++) await send(orderCreated({ id: `ord_${i}` }))
    handler.mockImplementation(() => void receiver.drain())
    expect(await receiver.replay({})).toHaveLength(20)
  })

  test('a failure that is replayed in vain is still of its account', async () => {
    const { failures, receiver, send, records } = failing({
      secret: undefined,
      account: (() => ({ id: 'acme', secret: SECRET })) as never,
    } as never)
    await send(ORDER, { request: 'acme' })
    await receiver.replay({}, { request: 'acme' })
    expect(await failures.list()).toMatchObject([
      { key: 'orders/acme/order.created/ord_1', account: 'acme', replays: 1 },
    ])
    expect(records.at(-1)).toMatchObject({ account: 'acme', replayed: true })
  })

  describe('failures of another backend', () => {
    const wrong: readonly [string, (failure: Failure) => unknown][] = [
      ['a date as text', (failure) => ({ ...failure, signedAt: failure.signedAt.toISOString() })],
      ['an account that is null', (failure) => ({ ...failure, account: null })],
      [
        'another than was asked for',
        (failure) => ({ ...failure, key: `${failure.key}0`, namespace: 'listing' }),
      ],
      ['null', () => null],
    ]

    test.each(wrong)('that returns %s: nothing runs, and what is kept stays as it is', async (_, broken) => {
      const failures = memoryFailures()
      const get = async (key: string) => broken((await failures.get(key)) as Failure) as Failure
      const list = async () => (await failures.list()).map((failure) => broken(failure) as Failure)
      const { handler, receiver, send } = failing({ failures: { ...failures, get, list } })
      await send(ORDER)
      const kept = await failures.list()
      for (const what of [KEY, {}]) {
        await expect(receiver.replay(what)).rejects.toMatchObject({ code: 'store_misbehaved' })
      }
      expect(await failures.list()).toEqual(kept)
      expect(handler).toHaveBeenCalledOnce()
      await receiver.drain()
    })

    test('whose list ignores a condition: nothing runs', async () => {
      const failures = memoryFailures()
      const { handler, receiver, send } = failing({ failures: { ...failures, list: () => failures.list() } })
      await send(ORDER)
      await expect(receiver.replay({ group: 'a3c4f9e81b5d2760' })).rejects.toThrow(/with another group/)
      expect(handler).toHaveBeenCalledOnce()
    })

    test('whose list ignores the limit and the position: no more are replayed, and each once', async () => {
      const failures = memoryFailures()
      const { receiver, send } = failing({ failures: { ...failures, list: () => failures.list() } })
      for (const id of ['ord_1', 'ord_2']) await send(orderCreated({ id }))
      expect(await receiver.replay({ limit: 1 })).toHaveLength(1)
      expect(await receiver.replay({})).toMatchObject([{ outcome: 'failed' }, { outcome: 'failed' }])
    })

    test('whose list breaks off: what has run is returned', async () => {
      const failures = memoryFailures()
      const list = vi.fn(failures.list)
      const { handler, receiver, send } = failing({ failures: { ...failures, list } })
      for (let i = 0; i < 25; i++) await send(orderCreated({ id: `ord_${i}` }))
      handler.mockImplementation(() => {})
      expect(await receiver.replay({ limit: 2 })).toHaveLength(2)
      expect(list.mock.calls.map(([query]) => query?.limit)).toEqual([2])
      list.mockImplementationOnce(failures.list).mockRejectedValueOnce(new Error('gone'))
      expect(await receiver.replay({})).toHaveLength(20)
      expect(await receiver.replay({})).toHaveLength(3)
    })

    test.each([{}, 'handled', 'in_flight'])('whose keep returns %j is reported', async (kept) => {
      const { send, reports } = failing({ failures: { ...memoryFailures(), keep: (() => kept) as never } })
      expect(await send(ORDER)).toMatchObject({ outcome: 'failed' })
      expect(reports.map(({ error }) => error.code)).toContain('not_kept')
    })
  })
})
