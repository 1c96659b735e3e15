import { type BodyReader, Discard, memoryStore, RetryLater, type WebhookOptions } from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { lifecycleEvent, orderCreated, SECRET, sign } from '../../support/deliveries.js'
import { deferred, throws, turns } from '../../support/promises.js'
import { receiving, storeWith } from '../../support/receiving.js'
import { SOON } from '../../support/retry-after.js'
import { schemaOf } from '../../support/schema-of.js'

describe('the ends of a delivery', () => {
  test('onUnhandled gets what `on` does not name, once', async () => {
    const kinds: string[] = []
    const { send } = receiving({
      on: { 'order.created': () => {} },
      onUnhandled: (event) => kinds.push(event.type),
    })
    await send(orderCreated())
    await send(lifecycleEvent('event.published'))
    await send(lifecycleEvent('event.archived'))
    await send(lifecycleEvent('event.archived'))
    expect(kinds).toEqual(['event.published', 'event.archived'])
  })

  test.each([
    ['Discard', new Discard('from the wrong place')],
    ['RetryLater', new RetryLater({ afterSeconds: 90 })],
  ])('a %s that a schema throws is a fault of the schema, not a wish', async (_, wish) => {
    const schema = schemaOf(throws(wish))
    const { send } = receiving({
      schemas: { 'order.created': schema },
      on: { 'order.created': () => {} },
    } as object)
    expect(await send(orderCreated())).toMatchObject({ outcome: 'misconfigured' })
  })
})

test('the handler gets everything known about the delivery', async () => {
  const now = 1_747_490_531_500
  const seen: unknown[] = []
  const { receiver } = receiving({
    now: () => now,
    namespace: 'shop',
    secret: ['whsec_new', SECRET],
    on: { 'order.created': (event, ctx) => seen.push({ event, ctx, aborted: ctx.signal.aborted }) },
  })
  const order = orderCreated({ id: 'ord_9' })
  const { header, body } = await sign(order, { timestamp: 1_747_490_500 })
  const request = { url: '/hooks' }
  await receiver.receive({ header, body, request })
  expect(seen).toMatchObject([
    {
      event: order,
      ctx: {
        request,
        key: 'shop/order.created/ord_9',
        attempt: 1,
        deduplicated: true,
        signedAt: new Date(1_747_490_500_000),
        secretIndex: 1,
        rawBody: body,
      },
      aborted: false,
    },
  ])
})

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

  test('the claim comes before the handler', async () => {
    const { touched, options } = everythingWrong()
    const { send } = receiving(options)
    expect(await send(orderCreated())).toEqual({ outcome: 'duplicate' })
    expect(touched).toEqual(['secret', 'key', 'claim'])
  })
})
