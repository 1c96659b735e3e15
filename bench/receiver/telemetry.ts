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
import { timeBeside } from '../support/comparison.js'
import { alternateWarm, cpuTimeOf, PROCESSOR_TIME } from '../support/cpu-time.js'
import type { Table } from '../support/report.js'
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
  const count = bench.size(1_600, 160)
  const bare: WebhookOptions = { secret: SECRET, on: { 'order.created': async () => {} } }
  const options = { ...bare, onDelivery: () => {} }
  const receivers = [
    createReceiver(options),
    createReceiver(instrument(options)),
    createReceiver(instrument(options, { tracerProvider, meterProvider })),
    createReceiver(bare),
    createReceiver(instrument(bare)),
  ]
  const slice = (receiver: Receiver) => async () => {
    const waiting = await signedOrders(count)
    let next = 0
    return cpuTimeOf(() => deliver(receiver, waiting[next++] as SignedOrder, 'handled'), count)
  }
  const [without = [], none = [], sdk = [], alone = [], added = []] = await alternateWarm(
    bench.size(32, 2),
    receivers.map(slice),
  )
  await Promise.all([tracerProvider.shutdown(), meterProvider.shutdown()])
  const plain = { name: 'without instrument', figures: without }
  return {
    title: 'instrument of tix-webhooks/opentelemetry',
    ratio: 'The time of a whole delivery, to that without it',
    unit: PROCESSOR_TIME,
    comparisons: [
      timeBeside({ name: 'instrument, no provider', figures: none }, plain),
      timeBeside({ name: 'instrument, the SDK', figures: sdk }, plain),
      // Without an onDelivery of the app, instrument is what makes the receiver make a record.
      timeBeside(
        { name: 'instrument, no provider, no onDelivery', figures: added },
        { name: 'without both', figures: alone },
      ),
    ],
    notes: [
      'An async handler, the default memory store. The SDK samples every span, batches it, and has three metrics; its exporter does nothing.',
    ],
  }
}
