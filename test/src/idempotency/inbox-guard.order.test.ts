import { describe, expect, test, vi } from 'vitest'
import { lifecycleEvent, orderCreated, SECRET, sign } from '../../support/deliveries.js'
import { schemaOf } from '../../support/schema-of.js'
import { receivingWith, scriptedInbox } from '../../support/scripted-inbox.js'
import { useVirtualTime } from '../../support/virtual-time.js'

useVirtualTime()

describe('the inbox is not asked', () => {
  const REFUSED: readonly [
    what: string,
    outcome: string,
    payload: object | string,
    delivery: () => object | Promise<object>,
    options?: object,
  ][] = [
    ['without a signature', 'malformed', orderCreated(), () => ({ header: undefined })],
    [
      'with a signature of another secret',
      'unauthenticated',
      orderCreated(),
      () => sign(orderCreated(), { secret: `${SECRET}x` }),
    ],
    [
      'with a signature from too long ago',
      'unauthenticated',
      orderCreated(),
      () => sign(orderCreated(), { timestamp: Math.floor(Date.now() / 1000) - 301 }),
    ],
    [
      'for a body that is not what was signed',
      'unauthenticated',
      orderCreated(),
      () => ({ body: new Uint8Array(9) }),
    ],
    ['for another method', 'method_not_allowed', orderCreated(), () => ({ method: 'GET' })],
    ['for a kind that nobody handles', 'unhandled', lifecycleEvent('event.published'), () => ({})],
    ['for invalid JSON', 'unprocessable', '{', () => ({})],
    ['for data that does not fit its kind', 'unprocessable', lifecycleEvent('order.created', {}), () => ({})],
    [
      'where the schema refuses',
      'unprocessable',
      orderCreated(),
      () => ({}),
      { schemas: { 'order.created': schemaOf(() => ({ issues: [{ message: 'no' }] })) } },
    ],
    [
      'where the key function throws',
      'misconfigured',
      orderCreated(),
      () => ({}),
      {
        key: () => {
          throw new Error('boom')
        },
      },
    ],
    ['where there is no secret', 'misconfigured', orderCreated(), () => ({}), { secret: () => undefined }],
  ]

  test.each(REFUSED)('%s: %s', async (_, outcome, payload, delivery, options = {}) => {
    const { inbox, requests } = scriptedInbox(async () => ({ status: 'duplicate' }))
    const handler = vi.fn()
    const { send, records } = receivingWith(inbox, { on: { 'order.created': handler }, ...options })
    expect(await send(payload, await delivery())).toMatchObject({ outcome })
    expect(requests).toEqual([])
    expect(handler).not.toHaveBeenCalled()
    expect(records).toHaveLength(1)
  })

  test('while the receiver is draining', async () => {
    const { inbox, requests } = scriptedInbox(async () => ({ status: 'duplicate' }))
    const { send, receiver } = receivingWith(inbox)
    await receiver.drain()
    expect(await send(orderCreated())).toMatchObject({ outcome: 'unavailable', code: 'draining' })
    expect(requests).toEqual([])
  })
})
