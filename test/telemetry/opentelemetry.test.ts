import { once } from 'node:events'
import { createRequire } from 'node:module'
import { setImmediate } from 'node:timers/promises'
import { FastifyOtelInstrumentation } from '@fastify/otel'
import {
  type ContextManager,
  context,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'
import { registerInstrumentations } from '@opentelemetry/instrumentation'
import { ExpressInstrumentation } from '@opentelemetry/instrumentation-express'
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node'
import type expressModule from 'express'
import fastify from 'fastify'
import { createReceiver, Discard, memoryStore, RetryLater, type WebhookOptions } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/express'
import { tixWebhooks as forFastify } from 'tix-webhooks/fastify'
import { instrument, type TelemetryOptions } from 'tix-webhooks/opentelemetry'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { deferred } from '../../src/lib/promises.js'
import { orderCreated, SECRET, sign } from '../support/deliveries.js'
import { eventually } from '../support/eventually.js'
import { listenTo } from '../support/fastify.js'
import { listen } from '../support/http.js'
import { deliver } from '../support/raw-bytes-harness.js'
import { telemetry, unregister } from '../support/telemetry.js'

type Telemetry = ReturnType<typeof telemetry>

const require = createRequire(import.meta.url)

afterEach(() => {
  unregister()
  vi.restoreAllMocks()
})

/** A busy machine stalls for seconds. */

const on = { 'order.created': () => {} }
const never = { 'order.created': () => new Promise(() => {}) }

/** Sends one delivery to a receiver with these options. */
async function receive(options: WebhookOptions) {
  return createReceiver(options).receive({ ...(await sign(orderCreated())), request: undefined })
}

/** A receiver whose telemetry goes to exporters in memory: by registered providers, or by those that are given. */
function observed(options: Partial<WebhookOptions> = {}, given?: (seen: Telemetry) => TelemetryOptions) {
  const seen = telemetry()
  if (given === undefined) seen.register()
  const receiver = createReceiver(
    instrument({ secret: SECRET, on, onError: () => {}, ...options }, given?.(seen)),
  )
  const send = async (payload: object = orderCreated(), header?: string) => {
    const signed = await sign(payload)
    return receiver.receive({ header: header ?? signed.header, body: signed.body, request: undefined })
  }
  return { ...seen, send }
}

const attributesOf = (span: ReadableSpan | undefined): Record<string, unknown> => ({ ...span?.attributes })

/** The spans above one, nearest first. */
function above(span: ReadableSpan, all: readonly ReadableSpan[]): ReadableSpan[] {
  const parent = all.find((one) => one.spanContext().spanId === span.parentSpanContext?.spanId)
  return parent === undefined ? [] : [parent, ...above(parent, all)]
}

describe('the span of a run', () => {
  test('is named and described by the messaging conventions', async () => {
    const { send, spans } = observed()
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

  test('is active while the handler runs: synchronously, after an await, and in a thenable that starts late', async () => {
    const child = (name: string): void => trace.getTracer('app').startSpan(name).end()
    const lazy = {
      // biome-ignore lint/suspicious/noThenProperty: a query builder
      then(resolve: (value: undefined) => void) {
        child('query')
        resolve(undefined)
      },
    }
    const handlers = [
      async () => {
        child('before')
        await null
        child('after')
      },
      () => lazy,
    ]
    for (const [handler, names] of [
      [handlers[0], ['before', 'after']],
      [handlers[1], ['query']],
    ] as const) {
      const { send, spans } = observed({ on: { 'order.created': handler } })
      await send()
      const run = spans().find(({ name }) => name === 'process order.created')
      const children = spans().filter((span) => span !== run)
      expect(children.map(({ name }) => name)).toEqual(names)
      expect(children.map((span) => above(span, spans()))).toEqual(names.map(() => [run]))
      unregister()
    }
  })

  const revoked = (): object => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    return proxy
  }

  test.each<[string, string, () => unknown, string | undefined]>([
    ['an error', 'failed', () => new RangeError('full'), 'RangeError'],
    ['a string', 'failed', () => 'a string', '_OTHER'],
    ['an object without a prototype', 'failed', () => Object.create(null), '_OTHER'],
    ['an object that throws', 'failed', revoked, '_OTHER'],
    ['a RetryLater', 'retry_later', () => new RetryLater({ afterSeconds: 5 }), undefined],
    ['a Discard', 'discarded', () => new Discard('not ours'), undefined],
  ])(
    'has its end, and so has the metric, when %s is thrown, now or later',
    async (_, outcome, make, errorType) => {
      const throwing = (): never => {
        throw make()
      }
      for (const handler of [throwing, async () => throwing()]) {
        const { send, spans, series } = observed({ on: { 'order.created': handler } })
        expect((await send()).outcome).toBe(outcome)
        const [span] = spans()
        expect(attributesOf(span)).toMatchObject({ 'tix_webhooks.outcome': outcome })
        expect(attributesOf(span)['error.type']).toBe(errorType)
        const isError = errorType !== undefined
        expect(span?.status.code).toBe(isError ? SpanStatusCode.ERROR : SpanStatusCode.UNSET)
        if (errorType !== '_OTHER') {
          expect(span?.events.map(({ name }) => name)).toEqual(isError ? ['exception'] : [])
        }
        const [duration] = await series('messaging.process.duration')
        expect(duration?.attributes['error.type']).toBe(errorType)
        unregister()
      }
    },
  )

  test('goes on after the deadline, and ends with the handler', async () => {
    const { promise, resolve } = deferred<void>()
    const { send, spans, series } = observed({ on: { 'order.created': () => promise }, timeoutSeconds: 1 })
    expect((await send()).outcome).toBe('timed_out')
    expect(spans()).toEqual([])
    resolve()
    await expect.poll(spans).toHaveLength(1)
    expect(attributesOf(spans()[0])).toMatchObject({ 'tix_webhooks.outcome': 'handled' })
    expect((await series('tix_webhooks.deliveries')).map(({ attributes }) => attributes)).toEqual([
      {
        'tix_webhooks.outcome': 'timed_out',
        'tix_webhooks.code': 'timed_out',
        'tix_webhooks.kind': 'order.created',
      },
    ])
  })

  const losing = {
    store: { ...memoryStore(), renew: () => false },
    namespace: 'orders',
    leaseSeconds: 0.1,
  }
  const untilLost: WebhookOptions['on'] = { 'order.created': (_, { signal }) => once(signal, 'abort') }

  test.each<[string, Partial<WebhookOptions>, string, RegExp | undefined]>([
    ['that never settles is given up', { on: never, maxRunSeconds: 0.02 }, 'timed_out', /maxRunSeconds/],
    ['settles after its lease was lost', { ...losing, on: untilLost }, 'handled', undefined],
  ])('ends when a handler %s', async (_, options, outcome, message) => {
    const { send, spans, series } = observed(options)
    await send()
    await expect.poll(spans).toHaveLength(1)
    const [span] = spans()
    const errorType = message && 'given_up'
    expect(attributesOf(span)).toMatchObject({ 'tix_webhooks.outcome': outcome })
    expect(attributesOf(span)['error.type']).toBe(errorType)
    const said = span?.events.map(({ attributes }) => attributes?.['exception.message'])
    expect(said).toEqual(message ? [expect.stringMatching(message)] : [])
    const durations = await series('messaging.process.duration')
    expect(durations.map(({ count, attributes }) => [count, attributes['error.type']])).toEqual([
      [1, errorType],
    ])
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
    const now = Date.now()
    const { send, series } = observed({ now: () => now })
    await send({ ...orderCreated(), created_at: new Date(now - 90_000).toISOString() })
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
    const record = (kind: string): unknown =>
      onDelivery?.({ outcome: 'handled', status: 200, kind, key: kind, durationMs: 1 }, { request: null })
    for (let index = 0; index < 10_000; index++) {
      const kind = `event.made_up_${index}`
      onUnhandled?.({ type: kind, created_at, data: {} } as never, { key: null } as never)
      record(kind)
    }
    record('event.published')
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

  test('make at most 50 series of names of errors, and those of given-up runs are never among the others', async () => {
    const { tracerProvider, meterProvider, spans, series } = telemetry()
    let runs = 0
    const throwing = () => {
      throw Object.assign(new Error('missing'), { name: `NotFound_ord_${runs++}` })
    }
    const { on: wrapped } = instrument(
      { secret: SECRET, on: { 'order.created': throwing } },
      { tracerProvider, meterProvider },
    )
    const event = { ...orderCreated(), created_at: new Date().toISOString() } as never
    for (let index = 0; index < 200; index++) {
      expect(() => wrapped['order.created']?.(event, {} as never)).toThrow('missing')
    }
    const durations = await series('messaging.process.duration')
    const types = durations.map(({ attributes }) => attributes['error.type'])
    // 49 besides given_up, and the rest.
    expect(types).toHaveLength(50)
    expect(types).toContain('_OTHER')
    expect(attributesOf(spans().at(-1))).toMatchObject({ 'error.type': 'NotFound_ord_199' })
  })

  test.each([
    [false, undefined],
    [true, 'a'],
  ])(
    'have the account on the counter alone, and only if that is asked for: by %s',
    async (accounts, counted) => {
      const { tracerProvider, meterProvider, spans, series } = telemetry()
      const known = new Map(['a', 'b'].map((id) => [id, { id, secret: `whsec_of_${id}` }]))
      const account = (request: string) => known.get(request)
      const providers = { tracerProvider, meterProvider, ...(accounts === undefined ? {} : { accounts }) }
      const receiver = createReceiver(instrument({ account, on, onError: () => {} }, providers))
      // One delivery of `a`, one in its name with the secret of `b`, and one in the name of a stranger.
      for (const [request, signer] of [
        ['a', 'a'],
        ['a', 'b'],
        ['stranger', 'a'],
      ] as const) {
        await receiver.receive({ ...(await sign(orderCreated(), { secret: `whsec_of_${signer}` })), request })
      }
      const accountsOf = (all: readonly { attributes: Readonly<Record<string, unknown>> }[]) =>
        all.map(({ attributes }) => attributes['tix_webhooks.account'])
      const deliveries = await series('tix_webhooks.deliveries')
      expect(deliveries.map(({ attributes }) => attributes['tix_webhooks.code'])).toEqual([
        undefined,
        'signature_mismatch',
        'account_unknown',
      ])
      expect(accountsOf(deliveries)).toEqual([counted, counted, undefined])
      expect(accountsOf(spans())).toEqual(['a'])
      expect(accountsOf(await series('messaging.process.duration'))).toEqual([undefined])
      expect(accountsOf(await series('tix_webhooks.delivery.age'))).toEqual([undefined])
    },
  )
})

describe('the span is inside that of the HTTP request', () => {
  const hooks = { secret: SECRET, on: { 'order.created': async () => {} } }

  test.each<[string, (seen: Telemetry) => Promise<number>]>([
    [
      'Express',
      async () => {
        const express = require('express') as typeof expressModule
        const { port, close } = await listen(express().post('/hooks', tixWebhooks(instrument(hooks))))
        onTestFinished(close)
        return port
      },
    ],
    [
      'Fastify',
      async ({ tracerProvider }) => {
        const app = fastify()
        const own = new FastifyOtelInstrumentation()
        own.setTracerProvider(tracerProvider)
        await app.register(own.plugin())
        app.post('/hooks', forFastify(instrument(hooks)))
        return listenTo(app)
      },
    ],
  ])('of %s', async (_, start) => {
    const seen = telemetry()
    seen.register()
    // Loaded before the framework.
    const instrumentations = [new HttpInstrumentation(), new ExpressInstrumentation()]
    onTestFinished(registerInstrumentations({ instrumentations }))
    require('node:http')
    expect((await deliver(await start(seen), await sign(orderCreated()))).status).toBe(200)
    await eventually(() => {
      const run = seen.spans().find(({ name }) => name === 'process order.created') as ReadableSpan
      expect(above(run, seen.spans()).map(({ kind }) => kind)).toContain(SpanKind.SERVER)
    })
  })
})

describe('without a provider', () => {
  test('nothing changes, and one that is registered later is used', async () => {
    const seen = telemetry()
    const outcomes: string[] = []
    const { send } = observed({ onDelivery: ({ outcome }) => void outcomes.push(outcome) }, () => ({}))
    expect(await send()).toEqual({ outcome: 'handled' })
    seen.register()
    await send()
    expect(outcomes).toEqual(['handled', 'handled'])
    expect(seen.spans()).toHaveLength(1)
    expect((await seen.series('tix_webhooks.deliveries')).map(({ count }) => count)).toEqual([1])
  })
})

test('a provider that is registered through another copy of the API is used', async () => {
  vi.resetModules()
  // An older copy of the API, as a library brings it along, asks the newer one's registration.
  const older = vi.fn(() => require('opentelemetry-api13'))
  vi.doMock('@opentelemetry/api', older)
  onTestFinished(() => void vi.doUnmock('@opentelemetry/api'))
  const other = await import('../../telemetry/opentelemetry.js')
  expect(older).toHaveBeenCalled()
  const seen = telemetry()
  seen.register()
  await trace.getTracer('app').startActiveSpan('request', async (span) => {
    await receive(other.instrument({ secret: SECRET, on }))
    span.end()
  })
  expect(seen.spans().map(({ name }) => name)).toEqual(['process order.created', 'request'])
  expect(above(seen.spans()[0] as ReadableSpan, seen.spans()).map(({ name }) => name)).toEqual(['request'])
  expect(await seen.names()).toContain('tix_webhooks.deliveries')
})

describe('telemetry that fails', () => {
  function broken(): never {
    throw new Error('telemetry is down')
  }
  async function rejecting(): Promise<never> {
    throw new Error('telemetry is down')
  }
  const tracing = (startSpan: () => unknown) => ({ getTracer: () => ({ startSpan }) })

  test.each([
    ['a tracer provider that throws', { getTracer: broken }],
    ['a tracer whose promise rejects', tracing(rejecting)],
    ['a span whose isRecording throws', tracing(() => ({ isRecording: broken, end: rejecting }))],
  ])('%s costs no metrics', async (_, given) => {
    const tracerProvider = given as unknown as TracerProvider
    const { send, names } = observed({}, ({ meterProvider }) => ({ tracerProvider, meterProvider }))
    expect(await send()).toEqual({ outcome: 'handled' })
    // An unhandled rejection would fail this test.
    await setImmediate()
    expect(await names()).toContain('messaging.process.duration')
  })

  test.each([broken, rejecting as never])(
    'a meter provider that fails costs no spans, not even the first',
    async (getMeter) => {
      const meterProvider = { getMeter }
      const { send, spans } = observed({}, ({ tracerProvider }) => ({ tracerProvider, meterProvider }))
      expect(await send()).toEqual({ outcome: 'handled' })
      expect(spans()).toHaveLength(1)
    },
  )

  test.each<[string, (run: () => unknown) => unknown]>([
    ['throws before it calls', broken],
    [
      'throws after it has called',
      (run) => {
        run()
        broken()
      },
    ],
    ['calls twice', (run) => [run(), run()]],
    ['drops the promise of the handler', (run) => void run()],
  ])('a context manager that %s: the handler runs once, and is awaited', async (_, callWithin) => {
    const manager: ContextManager = {
      active: () => ROOT_CONTEXT,
      with: ((_context: unknown, run: () => unknown) => callWithin(run)) as ContextManager['with'],
      bind: (_context, target) => target,
      enable: () => manager,
      disable: () => manager,
    }
    context.setGlobalContextManager(manager)
    let calls = 0
    let ends = 0
    const handler = async () => {
      calls++
      await setImmediate()
      ends++
    }
    const { send } = observed({ on: { 'order.created': handler } }, ({ tracerProvider }) => ({
      tracerProvider,
    }))
    expect(await send()).toEqual({ outcome: 'handled' })
    expect([calls, ends]).toEqual([1, 1])
  })
})

describe('the options', () => {
  const frozen = Object.freeze({ secret: SECRET, on: Object.freeze(on), onDelivery: () => {} })

  test.each<[string, WebhookOptions]>([
    ['may be frozen', frozen],
    [
      'may have keys without a handler',
      { ...frozen, on: { 'order.created': undefined, 'order.*': () => {} } },
    ],
  ])('%s', async (_, options) => {
    const { tracerProvider, meterProvider, spans, series } = telemetry()
    expect(await receive(instrument(options, { tracerProvider, meterProvider }))).toEqual({
      outcome: 'handled',
    })
    expect(spans()).toHaveLength(1)
    const [age] = await series('tix_webhooks.delivery.age')
    expect(age?.attributes).toMatchObject({ 'tix_webhooks.kind': 'order.created' })
  })

  class Hooks {
    'order.created'() {}
  }

  test.each<[string, object, RegExp]>([
    ['is an instance of a class', { on: new Hooks() }, /instance of a class/],
    ['has a typo', { on: { 'order.creatd': () => {} } }, /order\.creatd/],
    [
      'inherits handlers',
      { on: Object.assign(Object.create({ ...on, __proto__: null }), { 'event.*': () => {} }) },
      /on must be a plain object/,
    ],
    [
      'is iterable',
      { on: { ...on, [Symbol.iterator]: () => [][Symbol.iterator]() } },
      /on must be a plain object/,
    ],
  ])('are refused as without instrument if on %s', (_, given, refused) => {
    const options = { secret: SECRET, ...given } as unknown as WebhookOptions
    expect(() => createReceiver(options)).toThrow(refused)
    expect(() => createReceiver(instrument(options))).toThrow(refused)
  })

  test.each<[object, RegExp]>([
    [{ meterProvider: {} }, /meterProvider must have/],
    [{ accounts: 'yes' }, /^accounts must be true or false, not /],
  ])('%o for telemetry are refused', (given, refused) => {
    expect(() => instrument({ secret: SECRET, on }, given)).toThrow(refused)
  })

  test('are refused when they are instrumented already, in whole or in part, or by another copy of the package', async () => {
    const once = instrument({ secret: SECRET, on })
    const again = /instrumented already.*Call instrument once/
    expect(() => instrument(once)).toThrow(again)
    expect(() => instrument({ secret: SECRET, on: { ...once.on } })).toThrow(again)
    expect(() => instrument({ ...once, on: {} })).toThrow(again)
    vi.resetModules()
    const copy = await import('tix-webhooks/opentelemetry')
    expect(copy.instrument).not.toBe(instrument)
    expect(() => instrument(copy.instrument({ secret: SECRET, on }))).toThrow(again)
  })
})
