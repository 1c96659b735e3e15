import type { EventRecord } from '../records.js'
import type { ListEvents } from '../requests/list-queries.js'
import { checkedMoment } from './dates.js'

/**
 * Makes the test of whether an event belongs to a list.
 *
 * @throws Refusal if the list begins or ends at an impossible date
 */
export function eventFilter({
  status,
  venue_id,
  starts_after,
  starts_before,
}: ListEvents): (event: EventRecord) => boolean {
  const afterMs = starts_after === undefined ? -Infinity : checkedMoment(starts_after, 'day or moment').ms
  const beforeMs = starts_before === undefined ? Infinity : checkedMoment(starts_before, 'day or moment').ms
  return (event) =>
    (status === undefined || event.status === status) &&
    (venue_id === undefined || event.venueId === venue_id) &&
    event.doorsAt.ms >= afterMs &&
    event.doorsAt.ms < beforeMs
}
