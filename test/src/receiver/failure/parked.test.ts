import { memoryFailures, type WebhookOptions } from 'tix-webhooks'
import { describe, expect, test, vi } from 'vitest'
import { orderCreated } from '../../../support/deliveries.js'
import { honestInbox } from '../../../support/honest-inbox.js'
import { receiving, storeWith } from '../../../support/receiving.js'
import { advance, useVirtualTime } from '../../../support/virtual-time.js'

useVirtualTime()

const ORDER = orderCreated({ id: 'ord_1' })

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
