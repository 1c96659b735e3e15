// Spans and metrics of an Express app, sent to an OpenTelemetry collector. Run with a collector at OTEL_EXPORTER_OTLP_ENDPOINT:
//   TIX_SIGNING_SECRET=whsec_… npx tsx examples/opentelemetry.ts
import { metrics } from '@opentelemetry/api'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node'
import express from 'express'
import { tixWebhooks } from 'tix-webhooks/express'
import { instrument } from 'tix-webhooks/opentelemetry'

const traces = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())] })
const meters = new MeterProvider({
  readers: [new PeriodicExportingMetricReader({ exporter: new OTLPMetricExporter() })],
})
traces.register()
metrics.setGlobalMeterProvider(meters)

const hooks = tixWebhooks(
  instrument({
    secret: process.env.TIX_SIGNING_SECRET,
    on: {
      'order.created': async (event) => console.info(`order ${event.data.order.id}`),
      'event.*': async (event) => console.info(event.type),
    },
  }),
)

export const server = express()
  .post('/hooks', hooks)
  .listen(Number(process.env.PORT ?? 3000))

/** Ends the app, and sends what is not sent yet. */
export async function stop(): Promise<void> {
  await hooks.drain()
  // The connections that clients keep open.
  setTimeout(() => server.closeAllConnections(), 3_000).unref()
  await new Promise((resolve) => server.close(resolve))
  // Not all(): a collector that is down must not crash the process.
  await Promise.allSettled([traces.shutdown(), meters.shutdown()])
}

process.once('SIGTERM', stop)
