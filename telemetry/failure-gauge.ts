import type { Meter, ObservableResult } from '@opentelemetry/api'
import type { FailureState, Ledger } from '../src/index.js'
import { monotonicMs, RECOUNT_MS, STORE_CALL_MS, within } from '../src/internal.js'
import { ATTRIBUTES, METRICS } from './names.js'
import { safely } from './safely.js'

const STATES: readonly FailureState[] = ['failing', 'parked']

/** Counts the failures of one namespace whenever metrics are collected. */
export class FailureGauge {
  private counting: Promise<ReadonlyMap<FailureState, number>> | undefined
  private askedMs = 0

  constructor(
    private readonly ledger: Ledger,
    private readonly namespace: string,
  ) {}

  /** Adds the gauge to a meter. */
  observeBy(meter: Meter): void {
    meter
      .createObservableGauge(METRICS.failures, {
        description: 'Events that were not handled, by their state.',
        unit: '{event}',
      })
      .addCallback((result) => this.observe(result))
  }

  private async observe(result: ObservableResult): Promise<void> {
    // Collections that come while a count hangs share it: each count takes a connection. But one that never settles must not be the last.
    if (this.counting === undefined || monotonicMs() - this.askedMs >= RECOUNT_MS) {
      const counting = this.count().finally(() => {
        if (this.counting === counting) this.counting = undefined
      })
      this.counting = counting
    }
    const counts = await within(this.counting, STORE_CALL_MS, () => new Map())
    for (const [state, count] of counts) {
      safely(() =>
        result.observe(count, { [ATTRIBUTES.namespace]: this.namespace, [ATTRIBUTES.state]: state }),
      )
    }
  }

  /** Never rejects. What cannot be counted is missing: zero would end an alert. */
  private async count(): Promise<ReadonlyMap<FailureState, number>> {
    const counts = new Map<FailureState, number>()
    try {
      // One after the other, on one connection.
      for (const state of STATES) {
        this.askedMs = monotonicMs()
        const count: unknown = await this.ledger.count({ namespace: this.namespace, state })
        if (typeof count === 'number' && count >= 0) counts.set(state, count)
      }
    } catch {
      // Reported where failures are kept.
    }
    return counts
  }
}
