import { RetryLater } from 'tix-webhooks'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { lifecycleEvent, orderCreated, SECRET, sign } from '../../support/deliveries.js'
import { throws } from '../../support/promises.js'
import { receiving, storeWith } from '../../support/receiving.js'
import { SOON } from '../../support/retry-after.js'
import { schemaOf } from '../../support/schema-of.js'

describe('the order of the steps', () => {
  const FORGED = 't=1,v1=ab'
  const invalidOrder = lifecycleEvent('order.created', { order: 1 })
  const bodyOf = (payload: object) => JSON.stringify(payload)

  /** Each delivery is wrong for all later steps too, if its line does not say otherwise. */
  const STEPS: readonly [
    step: string,
    given: { header?: string | null; method?: string; signs?: string; at?: number; options?: object },
    outcome: string,
    touched: readonly string[],
  ][] = [
    ['the method', { method: 'GET', header: null }, 'method_not_allowed', []],
    ['the header', { header: 't=1' }, 'header_malformed', []],
    ['the limit of the body', { header: FORGED, options: { maxBodyBytes: 3 } }, 'too_large', ['body']],
    ['the signature', { header: FORGED }, 'signature_mismatch', ['body', 'secret']],
    ['the timestamp', { signs: 'not json', at: 1 }, 'timestamp_too_old', ['body', 'secret']],
    ['the JSON', { signs: 'not json' }, 'not_json', ['body', 'secret']],
    ['the envelope', { signs: '[]' }, 'not_an_envelope', ['body', 'secret']],
    [
      'the look-up of the handler',
      { signs: bodyOf(invalidOrder), options: { on: { 'event.published': () => {} } } },
      'unhandled',
      ['body', 'secret'],
    ],
    ['the key, then the data', { signs: bodyOf(invalidOrder) }, 'data_mismatch', ['body', 'secret', 'key']],
    ['the claim', { signs: bodyOf(orderCreated()) }, 'duplicate', ['body', 'secret', 'key', 'claim']],
  ]

  /** A receiver, and a record of the calls of each step. */
  function recording(options: object = {}) {
    const touched: string[] = []
    const touch =
      <T>(step: string, result: T) =>
      () => {
        touched.push(step)
        return result
      }
    const { store, namespace } = storeWith({ claim: touch('claim', { status: 'completed' }) })
    const received = receiving({
      store,
      namespace,
      secret: touch('secret', SECRET),
      key: touch('key', 'k'),
      on: { 'order.created': touch('handler', undefined) },
      ...options,
    })
    return { ...received, touched, touch }
  }

  test.each(STEPS)('is checked, before what comes after it: %s', async (_, given, end, touched) => {
    const { options, signs = 'not json', at, header, method } = given
    const { receiver, touch, ...seen } = recording(options)
    const signed = await sign(signs, at === undefined ? {} : { timestamp: at })
    const body = touch('body', Promise.resolve(signed.body))
    const sent = header === undefined ? signed.header : header
    const { outcome, code = outcome } = await receiver.receive({ header: sent, body, method, request: null })
    expect(code).toBe(end)
    expect(seen.touched).toEqual(touched)
    expect(seen.records).toMatchObject([{ outcome }])
    expect(seen.reports.map(({ error }) => error.code)).toEqual(
      ['method_not_allowed', 'unhandled', 'duplicate'].includes(end) ? [] : [end],
    )
  })

  test('a drain comes first: nothing of the delivery is read', async () => {
    const { receiver, touched, touch } = recording()
    await receiver.drain()
    const body = touch('body', Promise.resolve(new Uint8Array()))
    expect(await receiver.receive({ header: null, body, request: null, method: 'GET' })).toMatchObject({
      outcome: 'unavailable',
      code: 'draining',
      retryAfterSeconds: SOON,
    })
    expect(touched).toEqual([])
  })
})

test('a RetryLater that a schema throws is a fault of the schema, not a wish', async () => {
  const schema = schemaOf(throws(new RetryLater({ afterSeconds: 90 })))
  const on = { 'order.created': () => {} }
  const { send } = receiving({ schemas: { 'order.created': schema }, on } as object)
  expect(await send(orderCreated())).toMatchObject({ outcome: 'misconfigured' })
})

describe('a secret function', () => {
  test.each([[undefined], [''], [[]], [[undefined]], ['whsec_x\n'], [7]])(
    'that returns %o is misconfigured, never an empty key',
    async (value) => {
      const { send, reports } = receiving({ secret: () => value as string })
      expect(await send(orderCreated())).toMatchObject({ outcome: 'misconfigured', code: 'misconfigured' })
      expect(reports[0]?.error.message).toMatch(/secret function returned/)
    },
  )

  test('is given the request, and may answer later and with several', async () => {
    const requests: unknown[] = []
    const indexes: number[] = []
    const { send } = receiving({
      secret: async (request) => {
        requests.push(request)
        return ['whsec_old', SECRET]
      },
      on: { 'order.created': (_, ctx) => indexes.push(ctx.secretIndex) },
    })
    const request = { tenant: 'a' }
    expect(await send(orderCreated(), { request })).toEqual({ outcome: 'handled' })
    expect(requests).toEqual([request])
    expect(indexes).toEqual([1])
  })
})

/** A library's replacement for the global one. */
class Foreign<T> extends Promise<T> {}

test('a delivery is handled where another Promise is in the place of the one of the language', async () => {
  const { header, body } = await sign(orderCreated())
  const { receiver } = receiving({ secret: async () => SECRET, on: { 'order.created': async () => {} } })
  vi.stubGlobal('Promise', Foreign)
  onTestFinished(() => void vi.unstubAllGlobals())
  const answer = receiver.receive({ header, body: async () => body, request: null })
  expect(await answer).toEqual({ outcome: 'handled' })
})

test('a receiver judges a delivery by a date that is faked after it was made', async () => {
  const { receiver } = receiving({ on: { 'order.created': () => {} } })
  const at = Date.UTC(2020, 0, 1)
  const now = vi.spyOn(Date, 'now').mockReturnValue(at)
  onTestFinished(() => now.mockRestore())
  const delivery = await sign(orderCreated(), { timestamp: at / 1000 })
  expect(await receiver.receive({ ...delivery, request: null })).toEqual({ outcome: 'handled' })
  now.mockReturnValue(at + 3_600_000)
  expect(await receiver.receive({ ...delivery, request: null })).toMatchObject({ code: 'timestamp_too_old' })
})
