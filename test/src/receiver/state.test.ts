import type { Delivery, WebhookOptions } from 'tix-webhooks'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { lifecycleEvent, orderCreated, sign } from '../../support/deliveries.js'
import { never, throws, turns } from '../../support/promises.js'
import { receiving } from '../../support/receiving.js'
import { schemaOf } from '../../support/schema-of.js'

afterEach(() => {
  vi.restoreAllMocks()
})

describe('onDelivery', () => {
  test('gets one record for each delivery, with what was known of it', async () => {
    const now = () => 1_747_490_531_000
    const { receiver, records } = receiving({ now, on: { 'order.created': () => {} } })
    const timestamp = 1_747_490_500
    const order = orderCreated({ id: 'ord_5' })
    const deliveries = [
      { header: null, body: new Uint8Array() },
      await sign(order, { timestamp, secret: 'whsec_other' }),
      await sign(order, { timestamp }),
      await sign(order, { timestamp }),
    ]
    for (const delivery of deliveries) await receiver.receive({ ...delivery, request: null })

    const key = 'default/order.created/ord_5'
    const durationMs = expect.any(Number)
    const error = expect.any(Error)
    expect(records).toStrictEqual([
      { outcome: 'malformed', status: 400, code: 'header_missing', durationMs, error },
      { outcome: 'unauthenticated', status: 401, code: 'signature_mismatch', durationMs, error },
      {
        outcome: 'handled',
        status: 200,
        kind: 'order.created',
        key,
        attempt: 1,
        secretIndex: 0,
        signatureAgeSeconds: 31,
        durationMs,
      },
      {
        outcome: 'duplicate',
        status: 200,
        kind: 'order.created',
        key,
        secretIndex: 0,
        signatureAgeSeconds: 31,
        durationMs,
      },
    ])
  })

  test.each<[string, Partial<WebhookOptions>]>([
    ['the documented fields', {}],
    ['a schema', { schemas: { 'order.created': schemaOf(() => ({ issues: [{ message: 'no' }] })) } }],
    ['a key function', { key: () => 'ord_9' }],
  ])('gets the key of data that does not fit %s, as onError is', async (_, options) => {
    const { send, records, reports } = receiving({ on: { 'order.created': () => {} }, ...options })
    await send(lifecycleEvent('order.created', { order: { id: 'ord_9' } }))
    const key = 'default/order.created/ord_9'
    expect(records).toMatchObject([{ code: 'data_mismatch', kind: 'order.created', key }])
    expect(reports).toMatchObject([{ ctx: { kind: 'order.created', key } }])
  })

  test('gets the age of a delivery that is authentic but too old', async () => {
    const { receiver, records } = receiving({ now: () => 2_000_000 })
    await receiver.receive({ ...(await sign(orderCreated(), { timestamp: 1000 })), request: null })
    expect(records).toMatchObject([{ code: 'timestamp_too_old', signatureAgeSeconds: 1000 }])
  })
})

test('a listener that never settles changes nothing', async () => {
  const listener = () => never()
  const { send } = receiving({
    onDelivery: listener,
    onError: listener,
    on: { 'order.created': throws(new Error('boom')), 'event.published': () => {} },
  })
  expect(await send(orderCreated())).toMatchObject({ outcome: 'failed' })
  expect(await send(lifecycleEvent('event.published'))).toEqual({ outcome: 'handled' })
})

describe('a function of the user that fails, whose result does not matter', () => {
  /** As an unbound method of a logger does. */
  const unbound = throws(new TypeError('no this'))
  const rejects = async () => unbound()

  test.each<[string, Partial<WebhookOptions>, Partial<Delivery>?]>([
    ['onError', { onError: unbound }],
    ['onError', { onError: rejects }],
    ['onError', { onError: () => [rejects(), [rejects()]] }],
    ['onDelivery', { onDelivery: unbound, onError: undefined }],
    ['onDelivery', { onDelivery: rejects, onError: undefined }],
    ['onDelivery', { onDelivery: async () => [rejects(), rejects()], onError: undefined }],
    ['waitUntil', { onError: undefined }, { waitUntil: unbound }],
  ])('is logged once, beside each error, and changes no answer: %s', async (name, options, delivery) => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
    const { receiver, send } = receiving({
      on: { 'order.created': async () => Promise.reject(new Error('no ink')) },
      ...options,
    })
    const header = { header: null, body: new Uint8Array(), request: null }
    for (let i = 0; i < 2; i++) {
      expect(await send(orderCreated(), delivery)).toMatchObject({ outcome: 'failed' })
      expect(await receiver.receive(header)).toMatchObject({ outcome: 'malformed' })
    }
    await turns(2)
    const lines = printed.mock.calls.map(([text]) => String(text).split('\n')[0])
    const has = (text: string) => lines.filter((line) => line?.includes(text)).length
    expect([has(`${name} failed. Logged once`), has('no ink'), has('(header_missing)')]).toEqual([1, 2, 2])
    expect(printed.mock.calls.flat().join()).toContain('TypeError: no this\n        at ')
  })

  test('a logger of the framework that fails: the line goes to the console', async () => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
    const { send } = receiving({ onError: undefined, on: { 'order.created': throws(new Error('no ink')) } })
    await send(orderCreated(), { log: unbound })
    expect(printed).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('no ink'))
  })
})
