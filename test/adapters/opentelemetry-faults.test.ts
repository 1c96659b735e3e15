import { setImmediate } from 'node:timers/promises'
import {
  type ContextManager,
  context,
  ROOT_CONTEXT,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'
import { NodeTracerProvider, SimpleSpanProcessor, type SpanExporter } from '@opentelemetry/sdk-trace-node'
import { createReceiver, type Outcome, type WebhookOptions } from 'tix-webhooks'
import { instrument } from 'tix-webhooks/opentelemetry'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { orderCreated, SECRET, sign } from '../support/deliveries.js'
import { telemetry, unregister } from '../support/telemetry.js'

afterEach(unregister)

const on = { 'order.created': () => {} }

async function receive(options: WebhookOptions): Promise<Outcome> {
  const { header, body } = await sign(orderCreated())
  return createReceiver(options).receive({ header, body, request: undefined })
}

function broken(): never {
  throw new Error('telemetry is down')
}

async function rejecting(): Promise<never> {
  throw new Error('telemetry is down')
}

const tracing = (startSpan: () => unknown) => ({ getTracer: () => ({ startSpan }) as unknown as Tracer })

describe('telemetry that fails', () => {
  test.each([
    ['a tracer provider that throws', { getTracer: broken }],
    ['a tracer that throws', { getTracer: () => ({ startSpan: broken, startActiveSpan: broken }) }],
    ['a tracer provider whose promise rejects', { getTracer: rejecting }],
    ['a tracer whose promise rejects', tracing(rejecting)],
    ['a span whose isRecording throws', tracing(() => ({ isRecording: broken, end: rejecting }))],
  ])('%s costs no metrics', async (_, tracerProvider) => {
    const { meterProvider, names } = telemetry()
    const options = instrument(
      { secret: SECRET, on },
      { tracerProvider: tracerProvider as TracerProvider, meterProvider },
    )
    expect(await receive(options)).toEqual({ outcome: 'handled' })
    // An unhandled rejection would fail this test.
    await setImmediate()
    expect(await names()).toContain('messaging.process.duration')
  })

  test.each([broken, rejecting as never])(
    'a meter provider that fails costs no spans, not even the first',
    async (getMeter) => {
      const { tracerProvider, spans } = telemetry()
      const options = instrument({ secret: SECRET, on }, { tracerProvider, meterProvider: { getMeter } })
      expect(await receive(options)).toEqual({ outcome: 'handled' })
      expect(spans()).toHaveLength(1)
    },
  )

  test.each<[string, SpanExporter['export']]>([
    ['never finishes', () => {}],
    ['throws', broken],
  ])('an exporter that %s changes nothing', async (_, send) => {
    const exporter: SpanExporter = { export: send, shutdown: async () => {} }
    const tracerProvider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
    const options = instrument({ secret: SECRET, on }, { tracerProvider })
    expect(await receive(options)).toEqual({ outcome: 'handled' })
    // An unhandled rejection of the processor would fail this test.
    await setImmediate()
  })
})

describe('a context manager that fails', () => {
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
  ])('and %s: the handler runs once, and is awaited', async (_, callWithin) => {
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
    const { tracerProvider } = telemetry()
    const options = instrument({ secret: SECRET, on: { 'order.created': handler } }, { tracerProvider })
    expect(await receive(options)).toEqual({ outcome: 'handled' })
    expect([calls, ends]).toEqual([1, 1])
  })
})

describe('what a handler throws', () => {
  test.each([undefined, null, 0, Object.create(null), Proxy.revocable({}, {})])(
    'is %o: it still ends as failed, in the span and in the metrics',
    async (value) => {
      const thrown = value !== null && typeof value === 'object' && 'revoke' in value ? revoked(value) : value
      const { tracerProvider, meterProvider, spans, series } = telemetry()
      const throwing = () => {
        throw thrown
      }
      const options = { secret: SECRET, on: { 'order.created': throwing }, onError: () => {} }
      expect((await receive(instrument(options, { tracerProvider, meterProvider }))).outcome).toBe('failed')
      const [duration] = await series('messaging.process.duration')
      expect([spans()[0]?.attributes['error.type'], duration?.attributes['error.type']]).toEqual([
        '_OTHER',
        '_OTHER',
      ])
    },
  )

  function revoked({ proxy, revoke }: { proxy: object; revoke: () => void }): object {
    revoke()
    return proxy
  }

  test('makes at most 50 series, and those of given-up runs are never among the others', async () => {
    const { tracerProvider, meterProvider, spans, series } = telemetry()
    let runs = 0
    const throwing = () => {
      throw Object.assign(new Error('missing'), { name: `NotFound_ord_${runs++}` })
    }
    const { on: wrapped } = instrument(
      { secret: SECRET, on: { 'order.created': throwing } },
      { tracerProvider, meterProvider },
    )
    const created_at = new Date().toISOString()
    for (let index = 0; index < 200; index++) {
      const call = () => wrapped['order.created']?.({ ...orderCreated(), created_at } as never, {} as never)
      expect(call).toThrow('missing')
    }
    const types = (await series('messaging.process.duration')).map(
      ({ attributes }) => attributes['error.type'],
    )
    // 49 besides given_up, and the rest.
    expect(types).toHaveLength(50)
    expect(types).toContain('_OTHER')
    expect(spans().at(-1)?.attributes['error.type']).toBe('NotFound_ord_199')
  })
})

describe('the options', () => {
  test('may be frozen, or inherit from frozen defaults', async () => {
    const { tracerProvider, spans } = telemetry()
    const frozen = Object.freeze({ secret: SECRET, on: Object.freeze(on), onDelivery: () => {} })
    const inheriting: WebhookOptions = Object.create(frozen, {
      on: { value: { 'order.created': () => {} }, enumerable: true },
    })
    for (const options of [frozen, inheriting]) {
      expect(await receive(instrument(options, { tracerProvider }))).toEqual({ outcome: 'handled' })
    }
    expect(spans()).toHaveLength(2)
  })

  test('may be getters, which stay getters', () => {
    let reads = 0
    const options = {
      get secret() {
        reads++
        return SECRET
      },
      on,
    }
    const wrapped = instrument(options)
    expect(reads).toBe(0)
    expect(wrapped.secret).toBe(SECRET)
  })

  test('may be an instance of a class whose getter reads a private field', async () => {
    class Config {
      readonly #secret = SECRET
      readonly on = on
      get secret() {
        return this.#secret
      }
    }
    expect(await receive(instrument(new Config()))).toEqual({ outcome: 'handled' })
  })

  test.each([
    ['inherits handlers', Object.assign(Object.create({ ...on, __proto__: null }), { 'event.*': () => {} })],
    ['is iterable', { ...on, [Symbol.iterator]: () => [][Symbol.iterator]() }],
  ])('are refused as without instrument if on %s', (_, given) => {
    const options: WebhookOptions = { secret: SECRET, on: given }
    const refused = /on must be a plain object/
    expect(() => createReceiver(options)).toThrow(refused)
    expect(() => createReceiver(instrument(options))).toThrow(refused)
  })

  test('may have keys without a handler', async () => {
    const { meterProvider, series } = telemetry()
    const options = { secret: SECRET, on: { 'order.created': undefined, 'order.*': () => {} } }
    expect(await receive(instrument(options, { meterProvider }))).toEqual({ outcome: 'handled' })
    const [age] = await series('tix_webhooks.delivery.age')
    expect(age?.attributes['tix_webhooks.kind']).toBe('order.created')
  })

  test('are refused when they are instrumented already, in whole or in part', () => {
    const once = instrument({ secret: SECRET, on })
    const again = /instrumented already.*Call instrument once/
    expect(() => instrument(once)).toThrow(again)
    expect(() => instrument({ secret: SECRET, on: { ...once.on } })).toThrow(again)
    expect(() => instrument({ ...once, on: {} })).toThrow(again)
  })

  test('are refused when another copy of the package has instrumented them', async () => {
    vi.resetModules()
    const copy = await import('tix-webhooks/opentelemetry')
    expect(copy.instrument).not.toBe(instrument)
    const once = copy.instrument({ secret: SECRET, on })
    expect(() => instrument(once)).toThrow(/instrumented already/)
  })
})

test('the context survives an await of a thenable that starts late, as a query builder does', async () => {
  const { register, spans } = telemetry()
  register()
  const lazy = {
    // biome-ignore lint/suspicious/noThenProperty: a query builder
    then(resolve: (value: undefined) => void) {
      trace.getTracer('app').startSpan('query').end()
      resolve(undefined)
    },
  }
  await receive(instrument({ secret: SECRET, on: { 'order.created': () => lazy } }))
  const [query, run] = spans()
  expect([query?.name, run?.name]).toEqual(['query', 'process order.created'])
  expect(query?.parentSpanContext?.spanId).toBe(run?.spanContext().spanId)
})
