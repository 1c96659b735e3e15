import { createHash } from 'node:crypto'
import {
  ConfigurationError,
  type EventRecord,
  type HandlerContext,
  type KeepResult,
  memoryStore,
  RetryLater,
  StoreError,
  type WebhookOptions,
} from 'tix-webhooks'
import { describe, expect, test, vi } from 'vitest'
import { lifecycleEvent, sign } from '../../../support/deliveries.js'
import {
  BROKEN,
  failing,
  inInbox,
  inStore,
  KEY,
  type Kept,
  LEDGERS,
  MESSAGE,
  ORDER,
} from '../../../support/failing.js'
import { deferred, never, throws, watch } from '../../../support/promises.js'
import { storeWith } from '../../../support/receiving.js'
import { schemaOf } from '../../../support/schema-of.js'
import { advance, sleep, useVirtualTime } from '../../../support/virtual-time.js'

useVirtualTime()

const HOUR_MS = 3_600_000
const RETAIN_MS = 30 * 24 * HOUR_MS

const rolledBack = (): StoreError => new StoreError('rolled_back', 'of another transaction')

/** An inbox that keeps failures, and ends its transactions so. */
function inInboxWith(once: (work: (tx: unknown) => Promise<void>) => Promise<never>, keep?: () => unknown) {
  const { inbox, ledger } = inInbox()
  const broken = { ...inbox, once: (_: unknown, work: never) => once(work), ...(keep && { keep }) }
  return { ledger, options: { inbox: broken as never } }
}

const codesOf = ({ reports }: Pick<ReturnType<typeof failing>, 'reports'>) =>
  reports.map(({ error }) => error.code ?? error.message)

describe.each(LEDGERS)('with %s', (name, kept) => {
  test('an event that fails is kept with its bytes, once however often it fails, until it is handled', async () => {
    const { ledger, handler, send } = failing({}, kept())
    const { body } = await sign(ORDER)
    for (const count of [1, 2]) {
      expect(await send(ORDER)).toMatchObject({ outcome: 'failed', code: 'handler_failed' })
      expect(await ledger.list({ bodies: true })).toMatchObject([
        {
          key: KEY,
          namespace: 'orders',
          kind: 'order.created',
          orderId: 'ord_1',
          state: 'failing',
          attempts: count,
          rawBody: body,
          secretIndex: 0,
          failure: { code: 'handler_failed', message: MESSAGE, count, replays: 0 },
        },
      ])
    }
    expect(handler.mock.calls.map(([, ctx]) => (ctx as HandlerContext).attempt)).toEqual([1, 2])
    handler.mockImplementation(() => {})
    expect(await send(ORDER)).toEqual({ outcome: 'handled' })
    expect(await ledger.count()).toBe(0)
    expect(await ledger.get(KEY)).toMatchObject({ state: 'handled' })
    expect(await send(ORDER)).toEqual({ outcome: 'duplicate' })
  })

  test('what ends before a run is kept too, and nothing of an event that was handled', async () => {
    const { ledger, handler, send } = failing({}, kept())
    handler.mockImplementation(() => {})
    expect(await send(BROKEN)).toMatchObject({ outcome: 'unprocessable' })
    expect(await ledger.list()).toMatchObject([{ key: KEY, failure: { code: 'data_mismatch', count: 1 } }])
    for (const outcome of ['handled', 'duplicate']) expect(await send(ORDER)).toEqual({ outcome })
    expect(await send(BROKEN)).toMatchObject({ outcome: 'unprocessable' })
    expect(await ledger.count()).toBe(0)
  })

  test('the delivery that reaches parkAfter is answered 200 and reported, and nothing runs until a replay, which leaves it parked if it fails', async () => {
    const { ledger, handler, receiver, send, records, reports } = failing(
      { parkAfter: { attempts: 2 } },
      kept(),
    )
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

    const { expiresAt } = (await ledger.get(KEY)) as EventRecord
    await advance(60)
    expect(await receiver.replay(KEY, { request: {} })).toMatchObject({ code: 'handler_failed' })
    expect(await ledger.get(KEY)).toMatchObject({
      state: 'parked',
      expiresAt,
      failure: { count: 2, replays: 1 },
    })
    expect(await send(ORDER)).toEqual({ outcome: 'parked' })
    handler.mockImplementation(() => {})
    expect(await receiver.replay(KEY, { request: {} })).toEqual({ outcome: 'handled' })
    expect(await ledger.get(KEY)).toMatchObject({ state: 'handled' })
    expect(handler).toHaveBeenCalledTimes(4)
  })

  test.each(['succeeds', 'fails'])('a handler that is given up is kept once, and then %s', async (how) => {
    const running = deferred()
    const { ledger, handler, send } = failing({ maxRunSeconds: 5 }, kept())
    handler.mockImplementation(() =>
      running.promise.then(how === 'fails' ? throws(new Error('late')) : undefined),
    )
    const answered = send(ORDER)
    await advance(5)
    expect(await answered).toMatchObject({ outcome: 'timed_out', code: 'given_up' })
    await advance(1)
    expect(await ledger.list()).toMatchObject([{ failure: { code: 'given_up', count: 1 } }])
    running.resolve()
    await advance(1)
    // What it wrote in a transaction is lost.
    const isHandled = how === 'succeeds' && name.startsWith('a store')
    expect(await ledger.get(KEY)).toMatchObject(
      isHandled ? { state: 'handled' } : { state: 'failing', failure: { code: 'given_up', count: 1 } },
    )
  })
})

const keyOf = (body: string | Uint8Array): string =>
  `orders/sha256:${createHash('sha256').update(body).digest('hex')}`

describe('which deliveries are kept', () => {
  const noText = new Uint8Array([0xff, 0xfe, 0x00, 0x7b])

  test.each<[string, object | string | Uint8Array, Partial<WebhookOptions>, object]>([
    [
      'RetryLater',
      ORDER,
      { on: { 'order.created': throws(new RetryLater({ afterSeconds: 5, reason: 'closed' })) } },
      { failure: { code: 'retry_later', message: 'closed' } },
    ],
    [
      'bytes that are no text, by a key of them',
      noText,
      {},
      { key: keyOf(noText), kind: '', rawBody: noText, failure: { code: 'not_json' } },
    ],
    ['what is no event', '[]', {}, { key: keyOf('[]'), kind: '', failure: { code: 'not_an_envelope' } }],
    [
      'an event for which the key function throws',
      ORDER,
      { key: throws(new Error('no key')) },
      { key: keyOf(JSON.stringify(ORDER)), kind: 'order.created', failure: { code: 'misconfigured' } },
    ],
    [
      'an event that is about an event',
      lifecycleEvent('event.published', { event: { id: 'evt_7' } }),
      {},
      { eventId: 'evt_7' },
    ],
  ])('%s', async (_, payload, options, expected) => {
    const { ledger, receiver } = failing(options)
    await receiver.receive({ ...(await sign(payload)), request: null })
    const [event, ...more] = await ledger.list({ bodies: true })
    expect(event).toMatchObject(expected)
    expect(more).toEqual([])
    // A replay of bytes must find the record of their event.
    const keptMs = event?.key.includes('sha256:') ? RETAIN_MS - 73 * HOUR_MS : RETAIN_MS
    expect(Number(event?.expiresAt) - Number(event?.receivedAt)).toBe(keptMs)
  })

  test.each<[string, Partial<WebhookOptions>, (object | string)?, Kept?]>([
    ['a kind without a handler', { on: { 'event.*': () => {} } }],
    ['bytes, if nothing is kept for longer than deliveries are retried', { retentionSeconds: 262_800 }, '{'],
    ['an event without a key', { key: () => null }],
    ['an event without a key, before its run', { key: () => null }, BROKEN],
    ["a receiver that keeps 'nothing'", { keep: 'nothing' }],
    ["a receiver that keeps 'nothing', before a run", { keep: 'nothing' }, BROKEN],
    ['a store that is down', {}, ORDER, inStore({ claim: () => Promise.reject(rolledBack()) })],
    ['an inbox that is down', {}, ORDER, inInboxWith(async () => Promise.reject(rolledBack()))],
    ['handledBefore that asks for later', { handledBefore: throws(new RetryLater({ afterSeconds: 5 })) }],
    ['handledBefore that is given up', { handledBefore: () => never(), maxRunSeconds: 5 }],
    ['a schema that takes too long', { schemas: { 'order.created': schemaOf(never) } as never }],
  ])('nothing of %s', async (_, options, payload = ORDER, kept = inStore()) => {
    const { ledger, receiver, send, reports } = failing(options, kept)
    const sent = send(payload)
    await advance(11)
    expect((await sent).outcome).not.toBe('handled')
    expect(await ledger.count()).toBe(0)
    expect(codesOf({ reports })).not.toContain('not_kept')
    await receiver.drain()
  })

  test('nothing that was not verified', async () => {
    const { ledger, receiver } = failing()
    await receiver.receive({
      ...(await sign(ORDER)),
      body: new TextEncoder().encode('forged'),
      request: null,
    })
    expect(await ledger.count()).toBe(0)
  })

  test('what was sent, though the handler changes what it was given', async () => {
    const { ledger, handler, send } = failing()
    handler.mockImplementation(((event: { data?: unknown }, ctx: HandlerContext) => {
      delete event.data
      ctx.signedAt.setTime(0)
      structuredClone(ctx.rawBody.buffer, { transfer: [ctx.rawBody.buffer as ArrayBuffer] })
      throw new Error('after that')
    }) as never)
    const { body } = await sign(ORDER)
    await send(ORDER)
    const event = await ledger.get(KEY)
    expect(event).toMatchObject({ orderId: 'ord_1', rawBody: body, failure: { message: 'after that' } })
    expect(event?.signedAt?.getTime()).toBeGreaterThan(0)
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
  const { handler, receiver, ledger, send } = failing({ parkAfter: { attempts: 2 } })
  for (const payload of ['{', BROKEN]) {
    expect(await send(payload)).toMatchObject({ outcome: 'unprocessable' })
    expect(await send(payload)).toMatchObject({ outcome: 'parked', error: expect.any(Error) })
    expect(await send(payload)).toMatchObject({ outcome: 'parked' })
    await advance(1)
  }
  expect(await ledger.count({ state: 'parked' })).toBe(2)
  expect(await receiver.replay({})).toMatchObject([{ code: 'not_json' }, { code: 'data_mismatch' }])
  expect(handler).not.toHaveBeenCalled()
})

describe.each([
  ['a store', inStore],
  ['an inbox', inInbox],
] as const)('with %s, a failure beside a run of the event', (_, kept) => {
  test.each([
    ['is kept once that has failed', throws(new Error(MESSAGE)), 1, { count: 2 }],
    ['is kept once that has failed, though it takes longer', throws(new Error(MESSAGE)), 20, { count: 2 }],
    ['is not kept if that succeeds', () => {}, 1, undefined],
  ])('%s', async (__, end, seconds, failure) => {
    const { ledger, handler, send } = failing({ timeoutSeconds: 60 }, kept())
    const running = deferred()
    handler.mockImplementation(() => running.promise.then(end))
    const first = send(ORDER)
    await advance(0)
    expect(await send(BROKEN)).toMatchObject({ outcome: 'unprocessable' })
    await advance(seconds)
    expect(await ledger.count()).toBe(0)
    running.resolve()
    await first
    await advance(30)
    expect((await ledger.get(KEY))?.failure).toEqual(failure && expect.objectContaining(failure))
  })
})

describe('what an inbox refuses at its commit', () => {
  test.each([
    ['rolled_back', rolledBack(), 'unavailable'],
    ['misconfigured', new ConfigurationError('as returned nothing'), 'misconfigured'],
  ])('is kept as %s, parks with its error, and a replay says what happened', async (code, error, outcome) => {
    const kept = inInboxWith(async (work) => {
      await work({})
      throw error
    })
    const { handler, ledger, receiver, send } = failing({ parkAfter: { attempts: 2 } }, kept)
    handler.mockImplementation(() => {})
    expect(await send(ORDER)).toMatchObject({ outcome, code })
    expect(await send(ORDER)).toEqual({ outcome: 'parked', error })
    expect(await receiver.replay(KEY)).toMatchObject({ outcome, code })
    expect(await ledger.get(KEY)).toMatchObject({ state: 'parked', failure: { code, count: 2, replays: 1 } })
  })
})

/** The ways to keep a failure, each by a ledger with this for `fail` or `keep`, and the outcome. */
const KEEPING: readonly [string, (keep: () => unknown) => Kept, object | string, string, (() => void)?][] = [
  ['a handler that fails, with a store', (fail) => inStore({ fail: fail as never }), ORDER, 'failed'],
  [
    'a handler that fails, with an inbox',
    (keep) => inInboxWith((work) => work({}) as never, keep),
    ORDER,
    'failed',
  ],
  ['a body that cannot be read', (keep) => inStore({ keep: keep as never }), '{', 'unprocessable'],
  [
    'a COMMIT that is refused',
    (keep) =>
      inInboxWith(async (work) => {
        await work({})
        throw rolledBack()
      }, keep),
    ORDER,
    'unavailable',
    () => {},
  ],
]

describe.each(KEEPING)('%s', (_, keptWith, payload, outcome, handle = throws(new Error(MESSAGE))) => {
  const on = { 'order.created': handle, 'event.*': handle }

  test.each<[string, () => unknown]>([
    ['throws', throws(new Error('down: password=hunter2'))],
    ['never answers', () => never()],
    ['answers what it must not', () => ({})],
  ])('is answered as without a ledger, and is reported once, if that %s', async (__, keep) => {
    const { send, reports } = failing({ on }, keptWith(keep))
    const sent = send(payload)
    await advance(10)
    expect(await sent).toMatchObject({ outcome })
    await advance(60)
    const lost = reports.filter(({ error }) => error.code === 'not_kept')
    expect(lost).toHaveLength(1)
    expect(lost[0]?.error.message).toMatch(/^The failure of orders\/\S+ could not be kept: /)
    expect(reports).toHaveLength(2)
  })

  test('is answered by the deadline though it is kept later, and a drain waits for that', async () => {
    const slow = deferred<KeepResult>()
    const { receiver, send, reports } = failing(
      { timeoutSeconds: 1 },
      keptWith(() => slow.promise),
    )
    const answered = watch(send(payload))
    await advance(1)
    expect(answered.isResolved).toBe(true)
    const drained = watch(receiver.drain())
    await advance(0.5)
    expect(drained.isResolved).toBe(false)
    slow.resolve('failing')
    await advance(1)
    expect(drained.isResolved).toBe(true)
    expect(codesOf({ reports })).not.toContain('not_kept')
  })

  test('gives its place back before it is kept', async () => {
    const { handler, send } = failing(
      { concurrency: 1 },
      keptWith(() => never()),
    )
    void send(payload)
    await advance(0.1)
    handler.mockImplementation(() => {})
    const second = send(lifecycleEvent('event.published'))
    await advance(0.1)
    expect(handler).toHaveBeenCalledTimes(payload === '{' ? 1 : 2)
    await advance(60)
    await second
  })

  test('that takes long because another delivery runs is kept after that', async () => {
    const keep = vi.fn<() => Promise<KeepResult>>(async () => 'failing')
    keep.mockImplementationOnce(async () => {
      await sleep(3)
      return 'in_flight'
    })
    const { send } = failing({ on }, keptWith(keep))
    const sent = send(payload)
    await advance(30)
    expect(await sent).toMatchObject({ outcome })
    expect(keep).toHaveBeenCalledTimes(2)
  })
})

test('a store function that fails where a failure is kept is reported, and is not called for what is not kept', async () => {
  const store = vi.fn(throws(new Error('no binding')))
  const { send, reports } = failing({ store })
  expect(await send('{')).toMatchObject({ outcome: 'unprocessable' })
  expect(codesOf({ reports })).toEqual(['store_unavailable', 'not_json'])
  const slow = failing({ store, schemas: { 'order.created': schemaOf(never) } as never })
  const sent = slow.send(ORDER)
  await advance(10)
  expect(await sent).toMatchObject({ outcome: 'timed_out' })
  expect(store).toHaveBeenCalledOnce()
})

test.each<[string, Partial<WebhookOptions>, number]>([
  ['30 days in a ledger', {}, 30],
  ['7 days in a store that is none', { store: storeWith({}).store }, 7],
  ['as long as it is told', { retentionSeconds: 8 * 86_400 }, 8],
])('what was handled is remembered for %s', async (_, options, days) => {
  const store = (options.store ?? memoryStore()) as ReturnType<typeof memoryStore>
  const complete = vi.spyOn(store, 'complete')
  const { send } = failing({ ...options, store, on: { 'order.created': () => {} } })
  await send(ORDER)
  expect(complete).toHaveBeenCalledExactlyOnceWith(expect.anything(), days * 86_400_000)
})
