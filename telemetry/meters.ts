import {
  type Attributes,
  type Counter,
  createNoopMeter,
  type Histogram,
  type MeterProvider,
  metrics,
} from '@opentelemetry/api'
import type { DeliveryRecord } from '../src/index.js'
import type { FailureGauge } from './failure-gauge.js'
import { ATTRIBUTES, METRICS, SCOPE, SYSTEM } from './names.js'
import { safely } from './safely.js'

/** In seconds; those of the messaging conventions. */
const DURATION_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

/** In seconds, from an event that is handled at once to one that the service gives up after 72 hours. */
const AGE_BUCKETS = [1, 2, 5, 10, 30, 60, 300, 900, 3600, 14_400, 43_200, 86_400, 172_800, 259_200]

/** Names of errors on the metrics of one endpoint; a handler may put an id into a name, and each would be a series. */
const MAX_ERROR_TYPES = 50

interface Instruments {
  readonly duration: Histogram
  readonly deliveries: Counter
  readonly age: Histogram
}

interface MetersOptions {
  /** Default: the registered one. */
  readonly provider: MeterProvider | undefined
  /** The name of a kind on metrics. */
  readonly nameOf: (kind: string) => string
  /** Whether deliveries are counted by account. */
  readonly accounts: boolean
  /** Absent without the option `failures`. */
  readonly failures: FailureGauge | undefined
}

/** The end of one run, for its metrics. */
export interface RunEnd {
  readonly kind: string
  readonly outcome: string
  readonly errorType: string | undefined
  readonly durationSeconds: number
  /** NaN if the event's date is invalid. */
  readonly ageSeconds: number
}

/** The metrics of one endpoint, without keys, paths or addresses. */
export class Meters {
  private provider: MeterProvider | undefined
  private instruments: Instruments | undefined
  /** The first names of errors, and `_OTHER` for the rest. `given_up` is always among them: alerts look for it. */
  private readonly errorTypes = new Set(['given_up'])

  constructor(private readonly options: MetersOptions) {
    // At once: an endpoint may have failures, and get no delivery after a restart.
    if (options.failures !== undefined) safely(() => this.current())
  }

  /** Whether anything is measured. */
  get isOn(): boolean {
    return this.current() !== undefined
  }

  /** Counts a delivery, whatever its end. */
  count({ outcome, code, kind, account, replayed }: DeliveryRecord): void {
    const { nameOf, accounts } = this.options
    safely(() =>
      this.current()?.deliveries.add(1, {
        [ATTRIBUTES.outcome]: outcome,
        ...(code === undefined ? {} : { [ATTRIBUTES.code]: code }),
        ...(kind === undefined ? {} : { [ATTRIBUTES.kind]: nameOf(kind) }),
        ...(account === undefined || !accounts ? {} : { [ATTRIBUTES.account]: account }),
        ...(replayed ? { [ATTRIBUTES.replayed]: true } : {}),
      }),
    )
  }

  /** Measures a run: how long it took, and how old the event was by its end. */
  measure({ kind, outcome, errorType, durationSeconds, ageSeconds }: RunEnd): void {
    const instruments = this.current()
    if (instruments === undefined) return
    const name = this.options.nameOf(kind)
    const attributes: Attributes = { ...SYSTEM, 'messaging.destination.name': name }
    if (errorType !== undefined) attributes['error.type'] = this.boundedErrorType(errorType)
    instruments.duration.record(durationSeconds, attributes)
    if (!Number.isNaN(ageSeconds)) {
      instruments.age.record(ageSeconds, { [ATTRIBUTES.kind]: name, [ATTRIBUTES.outcome]: outcome })
    }
  }

  private boundedErrorType(name: string): string {
    if (this.errorTypes.size < MAX_ERROR_TYPES) this.errorTypes.add(name)
    return this.errorTypes.has(name) ? name : '_OTHER'
  }

  /** Asked for at each delivery: unlike a tracer, a meter does not pass on to a provider that is registered after it was made. */
  private current(): Instruments | undefined {
    const provider = this.options.provider ?? metrics.getMeterProvider()
    if (provider !== this.provider) {
      this.provider = provider
      // A provider that fails must not cost the spans.
      const meter = safely(() => provider.getMeter(SCOPE))
      this.instruments = meter && safely(() => instrumentsOf(meter))
      if (meter !== undefined && this.instruments !== undefined) {
        safely(() => this.options.failures?.observeBy(meter))
      }
    }
    return this.instruments
  }
}

function instrumentsOf(meter: ReturnType<MeterProvider['getMeter']>): Instruments | undefined {
  if (meter === createNoopMeter()) return undefined
  return {
    duration: meter.createHistogram(METRICS.duration, {
      description: 'Duration of processing operation.',
      unit: 's',
      advice: { explicitBucketBoundaries: DURATION_BUCKETS },
    }),
    deliveries: meter.createCounter(METRICS.deliveries, {
      description: 'Deliveries, by their end.',
      unit: '{delivery}',
    }),
    age: meter.createHistogram(METRICS.age, {
      description: 'Time from the making of an event to the end of its run.',
      unit: 's',
      advice: { explicitBucketBoundaries: AGE_BUCKETS },
    }),
  }
}
