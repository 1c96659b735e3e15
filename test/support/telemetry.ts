import { context, metrics, trace } from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node'

/** One series of a metric: its attributes, and its count (of a histogram, the number of values). */
interface Series {
  readonly attributes: Readonly<Record<string, unknown>>
  readonly count: number
  readonly sum: number
  readonly boundaries: readonly number[]
}

/** The real SDK, with exporters in memory. */
export function telemetry() {
  const spanExporter = new InMemorySpanExporter()
  const tracerProvider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spanExporter)] })
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })
  const meterProvider = new MeterProvider({ readers: [reader] })
  const collected = async () => {
    const { resourceMetrics } = await reader.collect()
    return resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics)
  }
  return {
    tracerProvider,
    meterProvider,
    spans: () => spanExporter.getFinishedSpans(),
    /** The names of all metrics so far. */
    names: async () => (await collected()).map(({ descriptor }) => descriptor.name).sort(),
    /** The series of a metric so far. */
    async series(metric: string): Promise<Series[]> {
      const found = (await collected()).filter(({ descriptor }) => descriptor.name === metric)
      return found.flatMap(({ dataPoints }) =>
        dataPoints.map(({ attributes, value }) =>
          typeof value === 'number'
            ? { attributes, count: value, sum: value, boundaries: [] }
            : {
                attributes,
                count: value.count,
                sum: 'sum' in value ? (value.sum ?? 0) : 0,
                boundaries:
                  'buckets' in value && 'boundaries' in value.buckets ? value.buckets.boundaries : [],
              },
        ),
      )
    },
    /** Registers both providers globally. */
    register() {
      tracerProvider.register()
      metrics.setGlobalMeterProvider(meterProvider)
    },
  }
}

/** Removes what was registered. */
export function unregister(): void {
  trace.disable()
  metrics.disable()
  context.disable()
}
