import { memoryFailures, type Outcome, type Receiver, StoreError, type WebhookOptions } from 'tix-webhooks'
import { describe, expect, test, vi } from 'vitest'
import { failing, KEY, ORDER, slowFailures } from '../../../support/failing-receiver.js'
import { honestInbox } from '../../../support/honest-inbox.js'
import { deferred } from '../../../support/promises.js'
import { receiving, storeWith } from '../../../support/receiving.js'
import { advance, useVirtualTime } from '../../../support/virtual-time.js'

useVirtualTime()

function parking(options: Partial<WebhookOptions>) {
  const failures = memoryFailures()
  const handler = vi.fn((): unknown => {
    throw new Error('no printer')
  })
  const on = { 'order.created': handler }
  return { failures, handler, ...receiving({ on, failures, namespace: 'orders', ...options }) }
}

const GUARDS: readonly [string, () => Partial<WebhookOptions>][] = [
  ['the default store', () => ({})],
  ['a store that answers later', () => ({ store: laterStore() })],
  ['an inbox', () => ({ inbox: honestInbox().inbox as never })],
  ['no key', () => ({ key: () => null })],
]

function laterStore() {
  const { base } = storeWith({})
  return storeWith({ claim: async (request) => base.claim(request) }, base).store
}

describe.each(GUARDS)('with %s', (_, guard) => {
  test('the attempt that reaches parkAfter is answered 200 and reported, and nothing runs from then on', async () => {
    const { failures, handler, send, records, reports } = parking({ ...guard(), parkAfter: { attempts: 2 } })
    expect(await send(ORDER)).toMatchObject({ outcome: 'failed' })
    expect(await send(ORDER)).toEqual({ outcome: 'parked', error: new Error('no printer') })
    expect(await send(ORDER)).toEqual({ outcome: 'parked' })
    expect(handler).toHaveBeenCalledTimes(2)
    expect(records.map(({ outcome, status }) => [outcome, status])).toEqual([
      ['failed', 500],
      ['parked', 200],
      ['parked', 200],
    ])
    expect(reports.map(({ error }) => error.message)).toEqual(['no printer', 'no printer'])
    expect(await failures.list()).toMatchObject([{ state: 'parked', attempts: 2 }])
  })

  test('a replay runs it, and one that fails leaves it parked, and counts', async () => {
    const { failures, handler, receiver, send } = parking({ ...guard(), parkAfter: { attempts: 1 } })
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
  const { send } = parking({ parkAfter: { hours: 24 } })
  expect(await send(ORDER)).toMatchObject({ outcome: 'failed' })
  await advance(24 * 3600 - 1)
  expect(await send(ORDER)).toMatchObject({ outcome: 'failed' })
  await advance(1)
  expect(await send(ORDER)).toMatchObject({ outcome: 'parked' })
})

test('an event that cannot be read is parked too', async () => {
  const { handler, receiver, failures, send } = parking({ parkAfter: { attempts: 2 } })
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

/** By its deadline of a second, whatever the failures do. */
async function expectAnswered(sent: Promise<Outcome>): Promise<void> {
  const answered = vi.fn()
  void sent.then(answered)
  await advance(1)
  expect(answered).toHaveBeenCalled()
}

/** Until the failure is kept. */
async function expectDrainToWait({ drain }: Receiver, finish: () => void): Promise<void> {
  const drained = vi.fn()
  void drain().then(drained)
  await advance(0.5)
  expect(drained).not.toHaveBeenCalled()
  finish()
  await advance(1)
  expect(drained).toHaveBeenCalled()
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
  const { failures, finish } = slowFailures()
  const { receiver, send } = failing({ failures })
  const sent = send(ORDER)
  await advance(2)
  await sent
  await expectDrainToWait(receiver, finish)
})

test('what cannot be read is answered by the deadline, and a drain waits for its failure', async () => {
  const { failures, finish } = slowFailures()
  const { receiver, send } = failing({ failures, timeoutSeconds: 1 })
  await expectAnswered(send('{'))
  await expectDrainToWait(receiver, finish)
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
    const { failures, finish } = slowFailures()
    const { handler, receiver, send } = failing({ inbox: inbox as never, failures, timeoutSeconds: 1 })
    handler.mockImplementation(() => {})
    await expectAnswered(send(ORDER))
    await expectDrainToWait(receiver, finish)
  })
})
