import {
  type Delivery,
  type DeliveryStatus,
  isFromScenario,
  isParkedDelivery,
  type SettledStatus,
} from './records.js'

const STATUSES: readonly SettledStatus[] = ['delivered', 'failed', 'skipped']

/** By status, and of the delivered ones those that are parked. */
type Counts = Record<SettledStatus | 'parked', number>

/** The deliveries that are no longer kept, and those of them that a scenario had sent. */
export interface Forgotten {
  readonly all: Readonly<Counts>
  readonly fromScenarios: Readonly<Counts>
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
    const { all, fromScenarios } = this.#counts
    for (const counts of isFromScenario(delivery) ? [all, fromScenarios] : [all]) {
      counts[status] += 1
      if (isParkedDelivery(delivery)) counts.parked += 1
    }
  }

  /** How many of a status, or of any, no scenario had sent. */
  genuine(status: DeliveryStatus | undefined): number {
    const { all, fromScenarios } = this.#counts
    return STATUSES.filter((one) => status === undefined || one === status).reduce(
      (sum, one) => sum + all[one] - fromScenarios[one],
      0,
    )
  }

  /** How many are parked that no scenario had sent. */
  get genuineParked(): number {
    return this.#counts.all.parked - this.#counts.fromScenarios.parked
  }

  /** Counts on from these; without them from nothing. */
  restart(counts: Forgotten = noneForgotten()): void {
    this.#counts = structuredClone(counts)
  }
}

function noneForgotten(): { readonly all: Counts; readonly fromScenarios: Counts } {
  const none: Counts = { delivered: 0, failed: 0, skipped: 0, parked: 0 }
  return { all: { ...none }, fromScenarios: { ...none } }
}
