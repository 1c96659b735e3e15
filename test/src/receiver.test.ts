import {
  type AnyEvent,
  type BodyReader,
  Discard,
  RetryLater,
  type UnknownEvent,
  type WebhookOptions,
} from 'tix-webhooks'
import { describe, expect, test } from 'vitest'
import { lifecycleEvent, orderCreated, SECRET, sign } from '../support/deliveries.js'
import { receiving, storeWith } from '../support/receiving.js'

describe('the ends of a delivery', () => {
  test('an order is handled, its repetition is a duplicate', async () => {
    const runs: unknown[] = []
    const { send } = receiving({ on: { 'order.created': (event) => runs.push(event.data.order.id) } })
    const order = orderCreated({ id: 'ord_7' })
    expect(await send(order)).toEqual({ outcome: 'handled' })
    expect(await send(order)).toEqual({ outcome: 'duplicate' })
    expect(runs).toEqual(['ord_7'])
  })

  test('a kind that nobody wants is unhandled, and the store is not asked', async () => {
    const { store, namespace } = storeWith({ claim: () => Promise.reject(new Error('asked')) })
    const { send } = receiving({ store, namespace })
    expect(await send(lifecycleEvent('venue.opened'))).toEqual({ outcome: 'unhandled' })
  })

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

  test('a handler that throws has failed, and the next delivery runs at once', async () => {
    const boom = new Error('boom')
    const attempts: unknown[] = []
    const { send, reports } = receiving({
      on: {
        'order.created': (_, ctx) => {
          attempts.push(ctx.attempt)
          if (ctx.attempt === 1) throw boom
        },
      },
    })
    const order = orderCreated()
    expect(await send(order)).toEqual({ outcome: 'failed', code: 'handler_failed', error: boom })
    expect(await send(order)).toEqual({ outcome: 'handled' })
    expect(attempts).toEqual([1, 2])
    expect(reports.map(({ error }) => error)).toEqual([boom])
  })

  test.each([['a string'], [undefined], [null], [42], [{ message: 'looks like one' }]])(
    'a handler that throws %o has failed, and the report says to throw an Error',
    async (thrown) => {
      const { send, reports } = receiving({
        on: {
          'order.created': () => {
            throw thrown
          },
        },
      })
      expect(await send(orderCreated())).toMatchObject({ outcome: 'failed', code: 'handler_failed' })
      expect(reports[0]?.error).toMatchObject({
        code: 'handler_failed',
        message: expect.stringMatching(/throw new Error/),
        cause: thrown,
      })
    },
  )

  test('RetryLater asks the sender to come again, and the event is released', async () => {
    const { send, records, reports } = receiving({
      on: {
        'order.created': (_, ctx) => {
          if (ctx.attempt === 1) throw new RetryLater({ afterSeconds: 90, reason: 'closed for the night' })
        },
      },
    })
    const order = orderCreated()
    expect(await send(order)).toMatchObject({
      outcome: 'retry-later',
      code: 'retry_later',
      retryAfterSeconds: 90,
    })
    expect(await send(order)).toEqual({ outcome: 'handled' })
    expect(records[0]?.error).toMatchObject({ message: 'closed for the night' })
    expect(reports).toEqual([])
  })

  test('Discard is final: the event is acknowledged and never runs again', async () => {
    let runs = 0
    const { send, reports } = receiving({
      on: {
        'order.created': () => {
          runs += 1
          throw new Discard('not ours')
        },
      },
    })
    const order = orderCreated()
    expect(await send(order)).toMatchObject({ outcome: 'discarded' })
    expect(await send(order)).toEqual({ outcome: 'duplicate' })
    expect(runs).toBe(1)
    expect(reports).toEqual([])
  })

  test('a RetryLater that a schema throws is a fault of the schema, not a wish', async () => {
    const schema = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: () => {
          throw new Discard('from the wrong place')
        },
      },
    } as const
    const { send } = receiving({
      schemas: { 'order.created': schema },
      on: { 'order.created': () => {} },
    } as object)
    expect(await send(orderCreated())).toMatchObject({ outcome: 'misconfigured' })
  })

  test('without a key the event runs at each delivery, unprotected', async () => {
    const contexts: unknown[] = []
    const { send } = receiving({
      key: () => null,
      on: {
        'order.created': (_, { key, attempt, deduplicated }) => contexts.push({ key, attempt, deduplicated }),
      },
    })
    const order = orderCreated()
    expect(await send(order)).toEqual({ outcome: 'handled' })
    expect(await send(order)).toEqual({ outcome: 'handled' })
    expect(contexts).toEqual(Array(2).fill({ key: null, attempt: undefined, deduplicated: false }))
  })
})

describe('the order of the steps', () => {
  /** A delivery on which everything is wrong that the steps look at, and what each of them was asked for. */
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
      retryAfterSeconds: 5,
    })
    expect(touched).toEqual([])
  })

  test('the method comes before the header', async () => {
    const { touched, body, options } = everythingWrong()
    const { receiver } = receiving(options)
    expect(await receiver.receive({ header: null, body, request: null, method: 'GET' })).toEqual({
      outcome: 'method-not-allowed',
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
      outcome: 'too-large',
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
    const { send } = receiving({ ...options, on: {} })
    expect(await send(lifecycleEvent('order.created', { order: 1 }))).toEqual({ outcome: 'unhandled' })
    expect(touched).toEqual(['secret'])
  })

  test('the claim comes before the handler', async () => {
    const { touched, options } = everythingWrong()
    const { send } = receiving(options)
    expect(await send(orderCreated())).toEqual({ outcome: 'duplicate' })
    expect(touched).toEqual(['secret', 'key', 'claim'])
  })
})

describe('a key function', () => {
  const throws = () => {
    throw new Error('no such field')
  }

  test('that throws on good data is misconfigured', async () => {
    const { send, reports } = receiving({ key: throws, on: { 'order.created': () => {} } })
    expect(await send(orderCreated())).toMatchObject({ outcome: 'misconfigured', code: 'misconfigured' })
    expect(reports[0]?.error.message).toMatch(/key function threw for order.created/)
  })

  test('that throws on bad data leaves the blame with the data', async () => {
    const { send } = receiving({ key: throws, on: { 'order.created': () => {} } })
    expect(await send(lifecycleEvent('order.created', { order: null }))).toMatchObject({
      outcome: 'unprocessable',
      code: 'data_mismatch',
    })
  })

  test.each([[''], [undefined], [7], [Promise.resolve('k')], [{}]])(
    'that returns %o is misconfigured',
    async (value) => {
      const { send, reports } = receiving({ key: () => value as string, on: { 'order.created': () => {} } })
      expect(await send(orderCreated())).toMatchObject({ outcome: 'misconfigured' })
      expect(reports[0]?.error.message).toMatch(/non-empty string, or null/)
    },
  )

  test('sees the parsed JSON and not what a schema makes of it', async () => {
    const totals: unknown[] = []
    const schema = {
      '~standard': { version: 1, vendor: 'test', validate: () => ({ value: { replaced: true } }) },
    } as const
    const { send } = receiving({
      schemas: { 'order.created': schema },
      key: (event: UnknownEvent) => {
        totals.push((event.data.order as { total_cents: number }).total_cents)
        return 'k'
      },
      on: { 'order.created': (event: AnyEvent) => totals.push(event.data) },
    } as object)
    await send(orderCreated())
    expect(totals).toEqual([5400, { replaced: true }])
  })
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

  test('that throws or rejects is misconfigured', async () => {
    for (const secret of [() => Promise.reject(new Error('vault')), throwing]) {
      const { send, reports } = receiving({ secret })
      expect(await send(orderCreated())).toMatchObject({ outcome: 'misconfigured' })
      expect(reports[0]?.error).toMatchObject({
        message: expect.stringMatching(/secret function threw/),
        cause: { message: 'vault' },
      })
    }
    function throwing(): string {
      throw new Error('vault')
    }
  })

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

describe('the body', () => {
  test.each([
    [{ code: 'too_large' }, 'too-large', 'too_large'],
    [{ code: 'misconfigured', message: 'parsed' }, 'misconfigured', 'misconfigured'],
    [new Error('aborted'), 'incomplete', 'body_incomplete'],
    [undefined, 'incomplete', 'body_incomplete'],
  ])('whose reader rejects with %o is %s', async (reason, outcome, code) => {
    const { receiver, records } = receiving()
    const body: BodyReader = () => Promise.reject(reason)
    expect(await receiver.receive({ header: 't=1,v1=ab', body, request: null })).toMatchObject({
      outcome,
      code,
    })
    expect(records).toMatchObject([{ outcome, code }])
  })

  test('whose reader throws is incomplete', async () => {
    const { receiver } = receiving()
    const body: BodyReader = () => {
      throw new Error('at once')
    }
    expect(await receiver.receive({ header: 't=1,v1=ab', body, request: null })).toMatchObject({
      outcome: 'incomplete',
    })
  })

  test.each([['text'], [{ type: 'order.created' }], [undefined], [new ArrayBuffer(2)]])(
    'that is %o and no bytes is misconfigured',
    async (body) => {
      const { receiver, reports } = receiving()
      for (const given of [body, async () => body]) {
        const outcome = await receiver.receive({
          header: 't=1,v1=ab',
          body: given as unknown as Uint8Array,
          request: null,
        })
        expect(outcome).toMatchObject({ outcome: 'misconfigured' })
      }
      expect(reports[0]?.error.message).toMatch(/exact bytes as a Uint8Array/)
    },
  )

  test('is refused over the limit also where a reader does not hold to it', async () => {
    const { receiver } = receiving({ maxBodyBytes: 10 })
    const asked: number[] = []
    const body: BodyReader = async (maxBytes) => {
      asked.push(maxBytes)
      return new Uint8Array(11)
    }
    expect(await receiver.receive({ header: 't=1,v1=ab', body, request: null })).toMatchObject({
      outcome: 'too-large',
    })
    expect(asked).toEqual([10])
  })
})

test('the handler is told all that is known of the delivery', async () => {
  const now = 1_747_490_531_500
  const seen: unknown[] = []
  const { receiver } = receiving({
    now: () => now,
    namespace: 'shop',
    secret: ['whsec_new', SECRET],
    on: { 'order.created': (event, ctx) => seen.push({ event, ...ctx, signal: ctx.signal.aborted }) },
  })
  const order = orderCreated({ id: 'ord_9' })
  const { header, body } = await sign(order, { timestamp: 1_747_490_500 })
  const request = { url: '/hooks' }
  await receiver.receive({ header, body, request })
  expect(seen).toEqual([
    {
      event: order,
      request,
      key: 'shop/order.created/ord_9',
      attempt: 1,
      deduplicated: true,
      signedAt: new Date(1_747_490_500_000),
      secretIndex: 1,
      rawBody: body,
      signal: false,
    },
  ])
})
