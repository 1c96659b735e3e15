import { memoryStore, RetryLater } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { lifecycleEvent, orderCreated, SECRET, sign } from '../../support/deliveries.js'
import { deferred, throws, turns } from '../../support/promises.js'
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

  test('the check of the data comes before a place among the runs, and that before the claim', async () => {
    const steps: string[] = []
    const [work, running, waiting] = [deferred(), deferred(), deferred()]
    const base = memoryStore()
    const { store, namespace } = storeWith({
      claim: (request) => {
        steps.push('claim')
        return base.claim(request)
      },
    })
    const validate = (value: unknown) => {
      steps.push('check')
      return { value }
    }
    const { send } = receiving({
      store,
      namespace,
      concurrency: 1,
      schemas: { 'order.created': { '~standard': { version: 1, vendor: 'test', validate } } } as never,
      key: (event) => {
        steps.push('key')
        if (steps.includes('claim')) waiting.resolve()
        return (event.data as { order: { id: string } }).order.id
      },
      on: {
        'order.created': () => {
          running.resolve()
          return work.promise
        },
      },
    })
    const first = send(orderCreated())
    await running.promise
    const second = send(orderCreated())
    await waiting.promise
    await turns(5)
    expect(steps).toEqual(['key', 'check', 'claim', 'key', 'check'])
    work.resolve()
    expect([(await first).outcome, (await second).outcome]).toEqual(['handled', 'handled'])
  })
})

test.each([['RetryLater', new RetryLater({ afterSeconds: 90 })]])(
  'a %s that a schema throws is a fault of the schema, not a wish',
  async (_, wish) => {
    const schema = schemaOf(throws(wish))
    const { send } = receiving({
      schemas: { 'order.created': schema },
      on: { 'order.created': () => {} },
    } as object)
    expect(await send(orderCreated())).toMatchObject({ outcome: 'misconfigured' })
  },
)
