import { type Failures, memoryFailures, StoreError, type WebhookOptions } from 'tix-webhooks'
import { describe, expect, test, vi } from 'vitest'
import { orderCreated } from '../../../support/deliveries.js'
import { honestInbox } from '../../../support/honest-inbox.js'
import { deferred } from '../../../support/promises.js'
import { receiving, storeWith } from '../../../support/receiving.js'
import { advance, useVirtualTime } from '../../../support/virtual-time.js'

useVirtualTime()

const KEY = 'orders/order.created/ord_1'
const ORDER = orderCreated({ id: 'ord_1' })

function failing(options: Partial<WebhookOptions> = {}) {
  const failures = memoryFailures()
  const handler = vi.fn((..._: unknown[]): unknown => {
    throw new Error('broken')
  })
  const on = { 'order.created': handler, 'event.*': handler }
  return { failures, handler, ...receiving({ on, failures, namespace: 'orders', ...options }) }
}

test('a run that is given up, and fails later, counts once', async () => {
  const running = deferred()
  const { failures, handler, send } = failing({ maxRunSeconds: 5 })
  handler.mockImplementation(async () => {
    await running.promise
    throw new Error('late')
  })
  const answered = send(ORDER)
  await advance(5)
  await answered
  running.resolve()
  await advance(1)
  expect(await failures.list()).toMatchObject([{ code: 'given_up', attempts: 1 }])
})

test('a drain waits for a failure that is kept after the answer', async () => {
  const failures = memoryFailures()
  const slow = deferred()
  const keep: Failures['keep'] = (failed) => slow.promise.then(() => failures.keep(failed))
  const { receiver, send } = failing({ failures: { ...failures, keep } })
  const sent = send(ORDER)
  await advance(2)
  await sent
  const drained = vi.fn()
  void receiver.drain().then(drained)
  await advance(1)
  expect(drained).not.toHaveBeenCalled()
  slow.resolve()
  await advance(1)
  expect(drained).toHaveBeenCalled()
})

test('what cannot be read is answered by the deadline, and a drain waits for its failure', async () => {
  const failures = memoryFailures()
  const slow = deferred()
  const keep: Failures['keep'] = (failed) => slow.promise.then(() => failures.keep(failed))
  const { receiver, send } = failing({ failures: { ...failures, keep }, timeoutSeconds: 1 })
  const answered = vi.fn()
  void send('{').then(answered)
  await advance(1)
  expect(answered).toHaveBeenCalled()
  const drained = vi.fn()
  void receiver.drain().then(drained)
  await advance(0.5)
  expect(drained).not.toHaveBeenCalled()
  slow.resolve()
  await advance(1)
})

test('what cannot be read is kept though the store is down', async () => {
  const { failures, send } = failing({
    store: storeWith({ claim: () => Promise.reject(new Error('down')) }).store,
  })
  expect(await send({ ...ORDER, data: {} })).toMatchObject({ outcome: 'unprocessable' })
  expect(await failures.count()).toBe(1)
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

test('that a failure is not kept because its event is handled is not reported', async () => {
  const { inbox } = honestInbox()
  const joined = {
    ...(inbox as object),
    joinFailures: () => ({ once: (inbox as { once: unknown }).once, keep: async () => 'handled' }),
  }
  const { send, reports } = failing({ inbox: joined as never })
  await send(ORDER)
  expect(reports).toHaveLength(1)
})

describe('a COMMIT that is refused', () => {
  const inbox = {
    async once(_: unknown, work: (tx: unknown) => Promise<void>) {
      await work({})
      throw new StoreError('rolled_back', 'refused')
    },
  }
  test('parks with its error, and a replay says what happened', async () => {
    const { handler, receiver, send } = failing({ inbox: inbox as never, parkAfter: { attempts: 1 } })
    handler.mockImplementation(() => {})
    expect(await send(ORDER)).toMatchObject({ outcome: 'parked', error: { code: 'rolled_back' } })
    expect(await receiver.replay(KEY)).toMatchObject({ outcome: 'unavailable', code: 'rolled_back' })
  })
  test('is answered by the deadline, and a drain waits for its failure', async () => {
    const failures = memoryFailures()
    const slow = deferred()
    const keep: Failures['keep'] = (failed) => slow.promise.then(() => failures.keep(failed))
    const { handler, receiver, send } = failing({
      inbox: inbox as never,
      failures: { ...failures, keep },
      timeoutSeconds: 1,
    })
    handler.mockImplementation(() => {})
    const answered = vi.fn()
    void send(ORDER).then(answered)
    await advance(1)
    expect(answered).toHaveBeenCalled()
    const drained = vi.fn()
    void receiver.drain().then(drained)
    await advance(0.5)
    expect(drained).not.toHaveBeenCalled()
    slow.resolve()
    await advance(1)
  })
})
