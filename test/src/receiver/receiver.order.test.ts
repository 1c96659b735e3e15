import type { BodyReader, WebhookOptions } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { lifecycleEvent, orderCreated, SECRET, sign } from '../../support/deliveries.js'
import { deferred } from '../../support/promises.js'
import { receiving, storeWith } from '../../support/receiving.js'
import { SOON } from '../../support/retry-after.js'

describe('the order of the steps', () => {
  /** A delivery that is wrong for every step, and a record of the calls of each. */
  function everythingWrong() {
    const touched: string[] = []
    const touch = (name: string) => () => {
      touched.push(name)
    }
    const body: BodyReader = async () => {
      touched.push('body')
      return new TextEncoder().encode('not json')
    }
    const { store, namespace } = storeWith({
      claim: async () => {
        touched.push('claim')
        return { status: 'completed' }
      },
    })
    const options: Partial<WebhookOptions> = {
      store,
      namespace,
      secret: () => {
        touched.push('secret')
        return SECRET
      },
      key: () => {
        touched.push('key')
        return 'k'
      },
      on: { 'order.created': touch('handler') },
    }
    return { touched, body, options }
  }

  test('a drain is looked at first: nothing of the delivery is read', async () => {
    const { touched, body, options } = everythingWrong()
    const { receiver } = receiving(options)
    await receiver.drain()
    expect(await receiver.receive({ header: null, body, request: null, method: 'GET' })).toMatchObject({
      outcome: 'unavailable',
      code: 'draining',
      retryAfterSeconds: SOON,
    })
    expect(touched).toEqual([])
  })

  test('the method comes before the header', async () => {
    const { touched, body, options } = everythingWrong()
    const { receiver } = receiving(options)
    expect(await receiver.receive({ header: null, body, request: null, method: 'GET' })).toEqual({
      outcome: 'method_not_allowed',
      code: 'method_not_allowed',
    })
    expect(touched).toEqual([])
  })

  test('the header comes before the body', async () => {
    const { touched, body, options } = everythingWrong()
    const { receiver } = receiving(options)
    expect(await receiver.receive({ header: 't=1', body, request: null })).toMatchObject({
      outcome: 'malformed',
      code: 'header_malformed',
    })
    expect(touched).toEqual([])
  })

  test('the body comes before the secret, and its limit before its signature', async () => {
    const { touched, body, options } = everythingWrong()
    const { receiver } = receiving({ ...options, maxBodyBytes: 3 })
    expect(await receiver.receive({ header: 't=1,v1=ab', body, request: null })).toMatchObject({
      outcome: 'too_large',
      code: 'too_large',
    })
    expect(touched).toEqual(['body'])
  })

  test('the signature comes before the timestamp and before the JSON', async () => {
    const { touched, body, options } = everythingWrong()
    const { receiver } = receiving(options)
    expect(await receiver.receive({ header: 't=1,v1=ab', body, request: null })).toMatchObject({
      outcome: 'unauthenticated',
      code: 'signature_mismatch',
    })
    expect(touched).toEqual(['body', 'secret'])
  })

  test('the timestamp comes before the JSON', async () => {
    const { touched, options } = everythingWrong()
    const { receiver } = receiving(options)
    const stale = await sign('not json', { timestamp: 1 })
    expect(await receiver.receive({ ...stale, request: null })).toMatchObject({
      outcome: 'unauthenticated',
      code: 'timestamp_too_old',
    })
    expect(touched).toEqual(['secret'])
  })

  test.each([
    ['not json', 'not_json'],
    ['[]', 'not_an_envelope'],
    [JSON.stringify(lifecycleEvent('order.created', { order: 1 })), 'data_mismatch'],
  ])('an authentic %s is unprocessable, and the store is not touched', async (payload, code) => {
    const { touched, options } = everythingWrong()
    const { send, reports } = receiving(options)
    expect(await send(payload)).toMatchObject({ outcome: 'unprocessable', code })
    expect(touched).not.toContain('claim')
    expect(touched).not.toContain('handler')
    expect(reports.map(({ error }) => error.code)).toEqual([code])
  })

  test('the look-up of the handler comes before the key and the check of the data', async () => {
    const { touched, options } = everythingWrong()
    const { send } = receiving({ ...options, on: { 'event.published': () => {} } })
    expect(await send(lifecycleEvent('order.created', { order: 1 }))).toEqual({ outcome: 'unhandled' })
    expect(touched).toEqual(['secret'])
  })

  test('the check of the data comes before a place among the runs, and that before the claim', async () => {
    const checked: string[] = []
    const { touched, options } = everythingWrong()
    const schema = (name: string) => ({
      '~standard': {
        version: 1 as const,
        vendor: 'test',
        validate: (value: unknown) => {
          checked.push(name)
          return { value }
        },
      },
    })
    const hold = deferred()
    const { send } = receiving({
      ...options,
      concurrency: 1,
      timeoutSeconds: 0.01,
      schemas: { 'order.created': schema('schema') },
      key: () => null,
      on: { 'order.created': () => hold.promise },
    } as Partial<WebhookOptions>)
    const running = send(orderCreated())
    expect(await send(orderCreated())).toMatchObject({ outcome: 'overloaded' })
    expect(checked).toEqual(['schema', 'schema'])
    expect(touched).not.toContain('claim')
    hold.resolve()
    await running
  })

  test('the claim comes before the handler', async () => {
    const { touched, options } = everythingWrong()
    const { send } = receiving(options)
    expect(await send(orderCreated())).toEqual({ outcome: 'duplicate' })
    expect(touched).toEqual(['secret', 'key', 'claim'])
  })
})
