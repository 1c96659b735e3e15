import type { Meter, ObservableResult } from '@opentelemetry/api'
import type { FailureState, Failures } from '../../src/index.js'
import { STORE_CALL_MS, within } from '../../src/internal.js'
import { NAMESPACE } from './names.js'
import { safely } from './safely.js'

const STATES: readonly FailureState[] = ['failing', 'parked']

/** Counts the failures of one namespace whenever metrics are collected. */
export class FailureGauge {
  private counting: Promise<ReadonlyMap<FailureState, number>> | undefined

  constructor(
    private readonly failures: Failures,
    private readonly namespace: string,
  ) {}

  /** Adds the gauge to a meter. */
  observeBy(meter: Meter): void {
    meter
      .createObservableGauge('tix_webhooks.failures', {
        description: 'Events that were not handled, by their state.',
        unit: '{event}',
      })
      .addCallback((result) => this.observe(result))
  }

  private async observe(result: ObservableResult): Promise<void> {
    // Collections that come while a count hangs share it: each count takes a connection.
    this.counting ??= this.count().finally(() => {
      this.counting = undefined
    })
    const counts = await within(this.counting, STORE_CALL_MS, () => new Map())
    for (const [state, count] of counts) {
      safely(() => result.observe(count, { [NAMESPACE]: this.namespace, 'tix_webhooks.state': state }))
    }
  }

  /** Never rejects. What cannot be counted is missing: zero would end an alert. */
  private async count(): Promise<ReadonlyMap<FailureState, number>> {
    const counts = new Map<FailureState, number>()
    try {
      // One after the other, on one connection.
      for (const state of STATES) {
        const count: unknown = await this.failures.count({ namespace: this.namespace, state })
        if (typeof count === 'number' && count >= 0) counts.set(state, count)
      }
    } catch {
      // Reported where failures are kept, and by health().
    }
    return counts
  }
}
