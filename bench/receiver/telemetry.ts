import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { BatchSpanProcessor, NodeTracerProvider, type SpanExporter } from '@opentelemetry/sdk-trace-node'
import { createReceiver, type Receiver, type WebhookOptions } from 'tix-webhooks'
import { instrument } from 'tix-webhooks/opentelemetry'
import type { Bench, Group } from '../support/bench.js'
import { alternateWarm, cpuTimeOf } from '../support/cpu-time.js'
import type { Table } from '../support/report.js'
import { COMPARISON_COLUMNS, PROCESSOR_TIME, timeBeside } from './comparison.js'
import { SECRET, type SignedOrder, signedOrders } from './orders.js'
import { deliver } from './receivers.js'

/** The cost of `instrument` for a whole delivery: with no provider, and with the SDK. */
export const telemetry: Group = { id: 'telemetry', measure: async (bench) => [await measure(bench)] }

/** Sampled and batched as in production; what a network would cost is left out. */
const EXPORTER: SpanExporter = {
  export: (_spans, done) => done({ code: 0 }),
  shutdown: async () => {},
}

async function measure(bench: Bench): Promise<Table> {
  bench.progress('telemetry')
  const tracerProvider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(EXPORTER)] })
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const readers = [new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })]
  const meterProvider = new MeterProvider({ readers })
  const count = bench.size(2_400, 160)
  const entrants = [() => {}, async () => {}].flatMap((handler) => {
    const bare: WebhookOptions = { secret: SECRET, on: { 'order.created': handler } }
    const options = { ...bare, onDelivery: () => {} }
    return [
      createReceiver(options),
      createReceiver(instrument(options)),
      createReceiver(instrument(options, { tracerProvider, meterProvider })),
      createReceiver(bare),
      createReceiver(instrument(bare)),
    ]
  })
  const slice = (receiver: Receiver) => async () => {
    const waiting = await signedOrders(count)
    let next = 0
    return cpuTimeOf(() => deliver(receiver, waiting[next++] as SignedOrder, 'handled'), count, 1)
  }
  const figures = await alternateWarm(bench.size(31, 2), entrants.map(slice))
  await Promise.all([tracerProvider.shutdown(), meterProvider.shutdown()])
  const rows = ['sync', 'async'].flatMap((kind, i) => {
    const [without = [], none = [], sdk = [], bare = [], added = []] = figures.slice(5 * i, 5 * i + 5)
    const plain = { name: `without instrument, ${kind} handler`, figures: without }
    return [
      timeBeside({ name: `instrument, no provider, ${kind} handler`, figures: none }, plain),
      timeBeside({ name: `instrument, the SDK, ${kind} handler`, figures: sdk }, plain),
      // Without an onDelivery of the app, instrument is what makes the receiver make a record.
      timeBeside(
        { name: `instrument, no provider, no onDelivery, ${kind} handler`, figures: added },
        { name: `without both, ${kind} handler`, figures: bare },
      ),
    ]
  })
  return {
    title: 'instrument of tix-webhooks/opentelemetry',
    columns: COMPARISON_COLUMNS,
    rows,
    notes: [
      PROCESSOR_TIME,
      'A whole new delivery through receive(), 1 in flight, with the default memory store. The SDK samples every span, batches it, and has three metrics; what it exports to does nothing.',
    ],
  }
}
