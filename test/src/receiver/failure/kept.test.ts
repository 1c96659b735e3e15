import { createHash } from 'node:crypto'
import {
  type Failure,
  type HandlerContext,
  memoryFailures,
  RetryLater,
  type WebhookOptions,
} from 'tix-webhooks'
import { describe, expect, test, vi } from 'vitest'
import { lifecycleEvent, sign } from '../../../support/deliveries.js'
import { failing as failingWith, ORDER } from '../../../support/failing-receiver.js'
import { honestInbox } from '../../../support/honest-inbox.js'
import { deferred, never, throws } from '../../../support/promises.js'
import { storeWith } from '../../../support/receiving.js'
import { advance, useVirtualTime } from '../../../support/virtual-time.js'

useVirtualTime()

const failing = (options: Partial<WebhookOptions> = {}) => failingWith(options, 'the printer is out of paper')

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
          message: 'the printer is out of paper',
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
  const noEnvelope = '{"type":7}'

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
      'JSON that is no envelope',
      noEnvelope,
      {},
      { key: bytesKey(noEnvelope), kind: '', code: 'not_an_envelope' },
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

  test('not a handler that was given up, and then succeeds', async () => {
    const running = deferred()
    const { failures, handler, send } = failing({ maxRunSeconds: 5 })
    handler.mockImplementation(() => running.promise)
    const answered = send(ORDER)
    await advance(5)
    await answered
    expect(await failures.count()).toBe(1)
    running.resolve()
    await advance(1)
    expect(await failures.count()).toBe(0)
  })
})
