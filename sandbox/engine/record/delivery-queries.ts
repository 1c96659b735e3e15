import { type DeliveryFilter, matchesFilter } from './delivery-filter.js'
import type { Tracked } from './delivery-log.js'
import type { Delivery } from './records.js'

/** A log, walked from its newest delivery. */
type Log = Iterable<Tracked>

/** A delivery that waits, and when it is tried next. */
export interface NextAttempt {
  readonly delivery: Delivery
  readonly atMs: number
}

/** The newest first. */
export function listDeliveries(
  log: Log,
  { limit = 100, ...filter }: DeliveryFilter = {},
): readonly Delivery[] {
  const found: Delivery[] = []
  for (const { delivery } of log) {
    if (found.length >= limit) break
    if (matchesFilter(delivery, filter)) found.push(delivery)
  }
  return found
}

/** The deliveries of a message that was just published, in the order in which they were made. */
export function deliveriesOf(log: Log, messageId: string): readonly Delivery[] {
  const found: Delivery[] = []
  for (const { delivery } of log) {
    if (delivery.message.id === messageId) found.unshift(delivery)
    else if (found.length > 0) break
  }
  return found
}

/** The delivery whose attempt is due next; undefined if none waits. */
export function nextAttempt(log: Log): NextAttempt | undefined {
  let next: NextAttempt | undefined
  for (const { delivery } of log) {
    const { nextAtMs } = delivery
    if (nextAtMs !== undefined && nextAtMs < (next?.atMs ?? Number.POSITIVE_INFINITY)) {
      next = { delivery, atMs: nextAtMs }
    }
  }
  return next
}
