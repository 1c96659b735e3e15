import { once } from 'node:events'
import { createRequire } from 'node:module'
import { FastifyOtelInstrumentation } from '@fastify/otel'
import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { registerInstrumentations } from '@opentelemetry/instrumentation'
import { ExpressInstrumentation } from '@opentelemetry/instrumentation-express'
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node'
import type expressModule from 'express'
import fastify from 'fastify'
import {
  createReceiver,
  type DeliveryRecord,
  Discard,
  memoryStore,
  type Outcome,
  RetryLater,
  type WebhookOptions,
} from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/express'
import { tixWebhooks as forFastify } from 'tix-webhooks/fastify'
import { instrument, type TelemetryOptions } from 'tix-webhooks/opentelemetry'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { deferred } from '../../src/lib/deferred.js'
import { orderCreated, SECRET, sign } from '../support/deliveries.js'
import { listenTo } from '../support/fastify.js'
import { listen } from '../support/http.js'
import { deliver } from '../support/raw-bytes-harness.js'
import { telemetry, unregister } from '../support/telemetry.js'

const require = createRequire(import.meta.url)

afterEach(() => {
  unregister()
  vi.restoreAllMocks()
})

type Options = Omit<WebhookOptions, 'secret' | 'on'> & Partial<Pick<WebhookOptions, 'on'>>

/** A receiver whose telemetry goes to exporters in memory. */
function observed(options: Options = {}) {
  const seen = telemetry()
  seen.register()
  const receiver = createReceiver(
    instrument({ secret: SECRET, on: { 'order.created': () => {} }, onError: () => {}, ...options }),
  )
  const send = async (payload: object, header?: string): Promise<Outcome> => {
    const signed = await sign(payload)
    return receiver.receive({ header: header ?? signed.header, body: signed.body, request: undefined })
  }
  return { ...seen, receiver, send }
}

const attributesOf = (span: ReadableSpan | undefined): object => ({ ...span?.attributes })

/** The kinds of the spans above one, nearest first. */
function above(span: ReadableSpan, all: readonly ReadableSpan[]): ReadableSpan[] {
  const parent = all.find((one) => one.spanContext().spanId === span.parentSpanContext?.spanId)
  return parent === undefined ? [] : [parent, ...above(parent, all)]
}

describe('the span of a run', () => {
  test('is named and described by the messaging conventions', async () => {
    const { send, spans } = observed({ now: () => Date.now() })
    await send(orderCreated({ id: 'ord_1' }))
    const [span, ...others] = spans()
    expect(others).toEqual([])
    expect([span?.name, span?.kind, span?.status.code]).toEqual([
      'process order.created',
      SpanKind.CONSUMER,
      SpanStatusCode.UNSET,
    ])
    expect(attributesOf(span)).toEqual({
      'messaging.system': 'tix_webhooks',
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process',
      'messaging.destination.name': 'order.created',
      'messaging.message.id': expect.stringMatching(/order\.created\/ord_1$/),
      'tix_webhooks.attempt': 1,
      'tix_webhooks.outcome': 'handled',
    })
  })

  test('has at most 255 characters of a kind that the sender made up', async () => {
    const { send, spans } = observed({ onUnhandled: () => {} })
    await send({ ...orderCreated(), type: `a.${'b'.repeat(100_000)}` })
    const kind = `a.${'b'.repeat(253)}`
    expect(spans().map(({ name }) => name)).toEqual([`process ${kind}`])
    expect(attributesOf(spans()[0])).toMatchObject({ 'messaging.destination.name': kind })
  })

  test('is active while the handler runs, synchronously and after an await', async () => {
    const seen = observed({
      on: {
        'order.created': async () => {
          trace.getTracer('app').startSpan('before').end()
          await null
          trace.getTracer('app').startSpan('after').end()
        },
      },
    })
    await seen.send(orderCreated())
    const run = seen.spans().find(({ name }) => name === 'process order.created')
    const children = seen.spans().filter((span) => span !== run)
    expect(children.map(({ name }) => name)).toEqual(['before', 'after'])
    expect(children.map((span) => above(span, seen.spans()))).toEqual([[run], [run]])
  })

  test.each([
    ['failed', new RangeError('full'), 'RangeError'],
    ['failed', 'a string', '_OTHER'],
    ['failed', Object.assign(new Error('of one order'), { name: 'Error of ord_1' }), '_OTHER'],
    ['retry_later', new RetryLater({ afterSeconds: 5 }), undefined],
    ['discarded', new Discard('not ours'), undefined],
  ])('ends as %s when %o is thrown, now or later', async (outcome, thrown, errorType) => {
    for (const handler of [
      () => {
        throw thrown
      },
      async () => {
        throw thrown
      },
    ]) {
      const { send, spans, series } = observed({ on: { 'order.created': handler } })
      expect((await send(orderCreated())).outcome).toBe(outcome)
      const [span] = spans()
      expect([span?.attributes['tix_webhooks.outcome'], span?.attributes['error.type']]).toEqual([
        outcome,
        errorType,
      ])
      const isError = errorType !== undefined
      expect(span?.status.code).toBe(isError ? SpanStatusCode.ERROR : SpanStatusCode.UNSET)
      expect(span?.events.map(({ name }) => name)).toEqual(isError ? ['exception'] : [])
      const [duration] = await series('messaging.process.duration')
      expect(duration?.attributes['error.type']).toBe(errorType)
      unregister()
    }
  })

  test('goes on after the deadline, and ends with the handler', async () => {
    const { promise, resolve } = deferred<void>()
    const { send, spans, series } = observed({
      on: { 'order.created': () => promise },
      timeoutSeconds: 0.02,
    })
    expect((await send(orderCreated())).outcome).toBe('timed_out')
    expect(spans()).toEqual([])
    resolve()
    await vi.waitFor(() => expect(spans()).toHaveLength(1))
    expect(spans()[0]?.attributes['tix_webhooks.outcome']).toBe('handled')
    expect((await series('tix_webhooks.deliveries')).map(({ attributes }) => attributes)).toEqual([
      {
        'tix_webhooks.outcome': 'timed_out',
        'tix_webhooks.code': 'timed_out',
        'tix_webhooks.kind': 'order.created',
      },
    ])
  })

  test('ends when its handler is given up, though that never settles', async () => {
    const { send, spans, series } = observed({
      on: { 'order.created': () => new Promise(() => {}) },
      maxRunSeconds: 0.02,
    })
    await send(orderCreated())
    await vi.waitFor(() => expect(spans()).toHaveLength(1))
    expect(attributesOf(spans()[0])).toMatchObject({
      'tix_webhooks.outcome': 'timed_out',
      'error.type': 'given_up',
    })
    const [duration] = await series('messaging.process.duration')
    expect([duration?.count, duration?.attributes['error.type']]).toEqual([1, 'given_up'])
  })

  test('ends when its handler is given up after its lease was lost, which aborted the signal before', async () => {
    const { send, spans, series } = observed({
      on: { 'order.created': () => new Promise(() => {}) },
      store: { ...memoryStore(), renew: () => false },
      namespace: 'orders',
      leaseSeconds: 0.1,
      maxRunSeconds: 0.2,
    })
    expect(await send(orderCreated())).toMatchObject({ code: 'given_up' })
    await vi.waitFor(() => expect(spans()).toHaveLength(1))
    expect(attributesOf(spans()[0])).toMatchObject({
      'tix_webhooks.outcome': 'timed_out',
      'error.type': 'given_up',
    })
    expect(spans()[0]?.events[0]?.attributes?.['exception.message']).toMatch(/lease .* was lost/)
    const [duration] = await series('messaging.process.duration')
    expect([duration?.count, duration?.attributes['error.type']]).toEqual([1, 'given_up'])
  })

  test('has the outcome of a handler that settles after its lease was lost, and is not given up then', async () => {
    const { send, spans, series } = observed({
      on: { 'order.created': (_, { signal }) => once(signal, 'abort') },
      store: { ...memoryStore(), renew: () => false },
      namespace: 'orders',
      leaseSeconds: 0.1,
    })
    expect((await send(orderCreated())).outcome).toBe('handled')
    expect(spans().map(({ attributes }) => attributes['tix_webhooks.outcome'])).toEqual(['handled'])
    expect((await series('messaging.process.duration')).map(({ count }) => count)).toEqual([1])
  })
})

describe('the metrics', () => {
  test('count every delivery by its end: duplicates, refusals, kinds that nobody wants', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const { send, spans, series, names } = observed()
    const order = orderCreated({ id: 'ord_1' })
    await send(order)
    await send(order)
    await send(order, 't=1,v1=00')
    await send({ ...order, type: 'venue.opened' })
    const counted = await series('tix_webhooks.deliveries')
    expect(counted.map(({ attributes, count }) => [Object.values(attributes), count])).toEqual([
      [['handled', 'order.created'], 1],
      [['duplicate', 'order.created'], 1],
      [['unauthenticated', 'signature_mismatch'], 1],
      [['unhandled', '_OTHER'], 1],
    ])
    expect(spans()).toHaveLength(1)
    expect(await names()).toEqual([
      'messaging.process.duration',
      'tix_webhooks.deliveries',
      'tix_webhooks.delivery.age',
    ])
  })

  test('measure the duration in the buckets of the conventions, and the age of the event at the end', async () => {
    const order = orderCreated()
    const now = Date.now()
    const { send, series } = observed({ now: () => now })
    await send({ ...order, created_at: new Date(now - 90_000).toISOString() })
    const [duration] = await series('messaging.process.duration')
    expect(duration?.attributes).toEqual({
      'messaging.system': 'tix_webhooks',
      'messaging.operation.name': 'process',
      'messaging.destination.name': 'order.created',
    })
    const conventional = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
    expect(duration?.boundaries).toEqual(conventional)
    const [age] = await series('tix_webhooks.delivery.age')
    expect(age).toMatchObject({
      attributes: { 'tix_webhooks.kind': 'order.created', 'tix_webhooks.outcome': 'handled' },
      count: 1,
      sum: 90,
    })
  })

  test('make one series of 10,000 kinds that the sender made up, in a group too', async () => {
    const { meterProvider, series } = telemetry()
    const { onDelivery, onUnhandled } = instrument(
      { secret: SECRET, on: { 'event.*': () => {} }, onUnhandled: () => {} },
      { meterProvider },
    )
    const created_at = new Date().toISOString()
    for (let index = 0; index < 10_000; index++) {
      const kind = `event.made_up_${index}`
      onUnhandled?.({ type: kind, created_at, data: {} } as never, { key: null } as never)
      onDelivery?.({ outcome: 'handled', status: 200, kind, key: kind, durationMs: 1 }, { request: null })
    }
    onDelivery?.(
      { outcome: 'handled', status: 200, kind: 'event.published', durationMs: 1 },
      { request: null },
    )
    const named = async (metric: string, attribute: string) =>
      (await series(metric)).map(({ attributes, count }) => [attributes[attribute], count])
    expect(await named('tix_webhooks.deliveries', 'tix_webhooks.kind')).toEqual([
      ['_OTHER', 10_000],
      ['event.published', 1],
    ])
    expect(await named('tix_webhooks.delivery.age', 'tix_webhooks.kind')).toEqual([['_OTHER', 10_000]])
    expect(await named('messaging.process.duration', 'messaging.destination.name')).toEqual([
      ['_OTHER', 10_000],
    ])
  })
})

describe('the account of a delivery', () => {
  const ACCOUNTS = new Map(['a', 'b'].map((id) => [id, { id, secret: `whsec_of_${id}` }]))

  /** One delivery of `a`, one in its name with the secret of `b`, and one in the name of a stranger. */
  async function seenBy(options: TelemetryOptions) {
    const { tracerProvider, meterProvider, spans, series } = telemetry()
    const receiver = createReceiver(
      instrument(
        {
          account: (request: string) => ACCOUNTS.get(request),
          on: { 'order.created': () => {} },
          onError: () => {},
        },
        { tracerProvider, meterProvider, ...options },
      ),
    )
    for (const [request, signer] of [
      ['a', 'a'],
      ['a', 'b'],
      ['stranger', 'a'],
    ] as const) {
      await receiver.receive({ ...(await sign(orderCreated(), { secret: `whsec_of_${signer}` })), request })
    }
    const counted = (await series('tix_webhooks.deliveries')).map(({ attributes }) => [
      attributes['tix_webhooks.code'] ?? attributes['tix_webhooks.outcome'],
      attributes['tix_webhooks.account'],
    ])
    const others = [
      ...(await series('messaging.process.duration')),
      ...(await series('tix_webhooks.delivery.age')),
    ]
    return {
      counted,
      spans: spans().map(({ attributes }) => attributes['tix_webhooks.account']),
      others: others.map(({ attributes }) => attributes['tix_webhooks.account']),
    }
  }

  test('is on its span, and on the counter only if that is asked for', async () => {
    const ends = ['handled', 'signature_mismatch', 'account_unknown']
    const without = {
      counted: ends.map((end) => [end, undefined]),
      spans: ['a'],
      others: [undefined, undefined],
    }
    expect(await seenBy({})).toEqual(without)
    expect(await seenBy({ accounts: false })).toEqual(without)
    expect(await seenBy({ accounts: true })).toEqual({
      ...without,
      counted: [
        ['handled', 'a'],
        ['signature_mismatch', 'a'],
        ['account_unknown', undefined],
      ],
    })
  })

  test.each(['yes', 1, null])('is asked for by true or false, not by %o', (accounts) => {
    const make = () => instrument({ secret: SECRET, on: {} }, { accounts: accounts as never })
    expect(make).toThrow(/^accounts must be true or false, not /)
  })
})

describe('inside the span of the HTTP request', () => {
  /** The framework's own instrumentation, loaded before the framework. */
  function withInstrumentations() {
    const seen = telemetry()
    seen.register()
    onTestFinished(
      registerInstrumentations({
        instrumentations: [new HttpInstrumentation(), new ExpressInstrumentation()],
      }),
    )
    return seen
  }

  const expectInsideServerSpan = (spans: readonly ReadableSpan[]): void => {
    const run = spans.find(({ name }) => name === 'process order.created') as ReadableSpan
    expect(above(run, spans).map(({ kind }) => kind)).toContain(SpanKind.SERVER)
  }

  test('of Express', async () => {
    const seen = withInstrumentations()
    require('node:http')
    const express = require('express') as typeof expressModule
    const app = express().post(
      '/hooks',
      tixWebhooks(instrument({ secret: SECRET, on: { 'order.created': () => {} } })),
    )
    const { port, close } = await listen(app)
    onTestFinished(close)
    expect((await deliver(port, await sign(orderCreated()))).status).toBe(200)
    await vi.waitFor(() => expectInsideServerSpan(seen.spans()))
  })

  test('of Fastify', async () => {
    const seen = withInstrumentations()
    require('node:http')
    const app = fastify()
    const own = new FastifyOtelInstrumentation()
    own.setTracerProvider(seen.tracerProvider)
    await app.register(own.plugin())
    app.post('/hooks', forFastify(instrument({ secret: SECRET, on: { 'order.created': async () => {} } })))
    const port = await listenTo(app)
    expect((await deliver(port, await sign(orderCreated()))).status).toBe(200)
    await vi.waitFor(() => expectInsideServerSpan(seen.spans()))
  })
})

describe('without a provider', () => {
  const lone = () => {
    const records: DeliveryRecord[] = []
    const options = {
      secret: SECRET,
      on: { 'order.created': () => 'ran' },
      onDelivery: (one: DeliveryRecord) => void records.push(one),
    }
    return { receiver: createReceiver(instrument(options)), records }
  }

  test('nothing changes, and one that is registered later is used', async () => {
    const { receiver, records } = lone()
    const send = async () => {
      const { header, body } = await sign(orderCreated())
      return await receiver.receive({ header, body, request: undefined })
    }
    expect(await send()).toEqual({ outcome: 'handled' })
    const seen = telemetry()
    seen.register()
    await send()
    expect(records.map(({ outcome }) => outcome)).toEqual(['handled', 'handled'])
    expect(seen.spans()).toHaveLength(1)
    expect((await seen.series('tix_webhooks.deliveries')).map(({ count }) => count)).toEqual([1])
  })

  test('the handler is called as if it were not wrapped: nothing is read for a span', () => {
    let runs = 0
    const reads: string[] = []
    const watched = new Proxy({}, { get: (_, name) => void reads.push(String(name)) }) as never
    const { on } = instrument({ secret: SECRET, on: { 'order.created': () => void runs++ } })
    on['order.created']?.(watched, watched)
    expect(runs).toBe(1)
    expect(reads).toEqual([])
  })

  test('the first delivery of a kind that nobody wants is still logged', async () => {
    const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
    const receiver = createReceiver(instrument({ secret: SECRET, on: { 'order.created': () => {} } }))
    const { header, body } = await sign({ ...orderCreated(), type: 'venue.opened' })
    await receiver.receive({ header, body, request: undefined })
    expect(logged.mock.calls.flat()).toEqual([expect.stringMatching(/venue\.opened.*no handler/)])
  })

  test('an option that is invalid is refused as without it', () => {
    class Hooks {
      'order.created'() {}
    }
    const make = (options: object) => () =>
      createReceiver(instrument({ secret: SECRET, on: {}, ...options } as never))
    expect(make({ on: new Hooks() })).toThrow(/instance of a class/)
    expect(make({ on: { 'order.created': function* () {} } })).toThrow(/generator/)
    expect(make({ on: { 'order.created': 1 } })).toThrow(/must be a function/)
    expect(make({ on: { 'order.creatd': () => {} } })).toThrow(/order\.creatd/)
    expect(make({ on: { 'order.created': () => {} }, onDelivery: 1 })).toThrow(/onDelivery/)
    expect(() => instrument({ secret: SECRET, on: {} }, { meterProvider: {} as never })).toThrow(
      /meterProvider must have/,
    )
  })
})

test('a provider that is registered through another copy of the API is used', async () => {
  vi.resetModules()
  // An older copy of the API, as a library brings it along, asks the newer one's registration.
  const older = vi.fn(() => require('opentelemetry-api13'))
  vi.doMock('@opentelemetry/api', older)
  onTestFinished(() => void vi.doUnmock('@opentelemetry/api'))
  const other = await import('../../adapters/opentelemetry.js')
  expect(older).toHaveBeenCalled()
  const seen = telemetry()
  seen.register()
  const receiver = createReceiver(other.instrument({ secret: SECRET, on: { 'order.created': () => {} } }))
  const { header, body } = await sign(orderCreated())
  await trace.getTracer('app').startActiveSpan('request', async (span) => {
    await receiver.receive({ header, body, request: undefined })
    span.end()
  })
  expect(seen.spans().map(({ name }) => name)).toEqual(['process order.created', 'request'])
  expect(above(seen.spans()[0] as ReadableSpan, seen.spans()).map(({ name }) => name)).toEqual(['request'])
  expect(await seen.names()).toContain('tix_webhooks.deliveries')
})

test('a provider that throws changes nothing', async () => {
  const broken = () => {
    throw new Error('telemetry is down')
  }
  const options = instrument(
    { secret: SECRET, on: { 'order.created': () => {} } },
    { tracerProvider: { getTracer: broken }, meterProvider: { getMeter: broken } },
  )
  const { header, body } = await sign(orderCreated())
  expect(await createReceiver(options).receive({ header, body, request: undefined })).toEqual({
    outcome: 'handled',
  })
})
