import { type Delivery, type DeliveryStatus, isFromScenario, type SettledStatus } from './records.js'

const STATUSES: readonly SettledStatus[] = ['delivered', 'failed', 'skipped']

/** The deliveries that are no longer kept, counted by their status, and those of them that a scenario had sent. */
export interface Forgotten {
  readonly all: Readonly<Record<SettledStatus, number>>
  readonly fromScenarios: Readonly<Record<SettledStatus, number>>
}

/** Counts the deliveries that the log drops, so that a failure that was dropped still shows in the totals. */
export class ForgottenCounter {
  #counts = noneForgotten()

  get counts(): Forgotten {
    return structuredClone(this.#counts)
  }

  add(delivery: Delivery): void {
    // Only a settled delivery is dropped.
    const status = delivery.status as SettledStatus
    this.#counts.all[status] += 1
    if (isFromScenario(delivery)) this.#counts.fromScenarios[status] += 1
  }

  /** How many of a status, or of any, no scenario had sent. */
  genuine(status: DeliveryStatus | undefined): number {
    const { all, fromScenarios } = this.#counts
    return STATUSES.filter((one) => status === undefined || one === status).reduce(
      (sum, one) => sum + all[one] - fromScenarios[one],
      0,
    )
  }

  /** Counts on from these; without them from nothing. */
  restart(counts: Forgotten = noneForgotten()): void {
    this.#counts = structuredClone(counts)
  }
}

function noneForgotten() {
  return {
    all: { delivered: 0, failed: 0, skipped: 0 },
    fromScenarios: { delivered: 0, failed: 0, skipped: 0 },
  }
}
