import { type Delivery, type DeliveryStatus, isParkedDelivery, type SettledStatus } from './records.js'

/** Only a settled delivery is dropped. */
export const FORGOTTEN_STATUSES: readonly SettledStatus[] = [
  'delivered',
  'failed',
  'skipped',
  'passed',
  'wrong_answer',
]

/** The deliveries that no scenario sent. */
const GENUINE: readonly SettledStatus[] = ['delivered', 'failed', 'skipped']

/** The deliveries that are no longer kept, by status, and of the delivered ones those that are parked. */
export type Forgotten = Readonly<Record<SettledStatus | 'parked', number>>

/** Counts the deliveries that the log drops, so that a failure that was dropped still shows in the totals. */
export class ForgottenCounter {
  #counts = noneForgotten()

  get counts(): Forgotten {
    return { ...this.#counts }
  }

  add(delivery: Delivery): void {
    this.#counts[delivery.status as SettledStatus] += 1
    if (isParkedDelivery(delivery)) this.#counts.parked += 1
  }

  /** The genuine deliveries of a status, or of all. */
  genuine(status: DeliveryStatus | 'scenario' | undefined): number {
    return GENUINE.filter((one) => status === undefined || one === status).reduce(
      (sum, one) => sum + this.#counts[one],
      0,
    )
  }

  /** Restores saved counts. Default: zero. */
  restart(counts: Forgotten = noneForgotten()): void {
    this.#counts = { ...counts }
  }
}

function noneForgotten(): Record<SettledStatus | 'parked', number> {
  return { delivered: 0, failed: 0, skipped: 0, passed: 0, wrong_answer: 0, parked: 0 }
}
