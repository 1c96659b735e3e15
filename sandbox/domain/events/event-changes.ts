import type { EventRecord } from '../records.js'
import type { Problem } from '../refusal.js'
import { refuseIfAny } from '../requests/missing.js'
import { sanitizeMarkdown } from '../text/sanitize-markdown.js'
import { type Dates, problemsOfDates, updatedDates } from './dates.js'
import type { UpdateEvent } from './event-requests.js'
import { nextStatus } from './states.js'
import { capacityOf, problemsOfTiers, tiersOf } from './tiers.js'

/** The fields of a draft that can no longer be changed once it is published. */
const OF_A_DRAFT = ['venue_id', 'on_sale_at'] as const

/**
 * The dates after an update, if the event allows it.
 *
 * @throws Refusal
 */
export function checkChanges(
  event: EventRecord,
  given: UpdateEvent,
  problemOfVenue: (venueId: string) => Problem | undefined,
): Dates {
  nextStatus(event, 'update')
  const dates = updatedDates(event, given)
  if (event.status !== 'draft') refuseIfAny(problemsOfPublished(event, given))
  refuseIfAny([
    given.venue_id === undefined ? undefined : problemOfVenue(given.venue_id),
    ...problemsOfDates(dates, given),
    ...(given.tickets === undefined ? [] : problemsOfTiers(given.tickets, event.tiers)),
  ])
  return dates
}

/** Applies changes that are already validated. Omitted fields stay. */
export function applyChanges(
  event: EventRecord,
  given: UpdateEvent,
  dates: Dates,
  newTierId: () => string,
): void {
  Object.assign(event, dates)
  event.title = given.title ?? event.title
  event.venueId = given.venue_id ?? event.venueId
  event.refundPolicy = given.refund_policy ?? event.refundPolicy
  event.transferable = given.transferable ?? event.transferable
  if (given.image !== undefined) event.imageUrl = given.image
  if (given.description_md !== undefined) {
    event.descriptionMd = given.description_md === null ? null : sanitizeMarkdown(given.description_md)
  }
  if (given.tickets !== undefined) {
    event.tiers = tiersOf(given.tickets, event.tiers, newTierId)
    event.capacity = capacityOf(event.tiers)
  }
}

function problemsOfPublished(event: EventRecord, given: UpdateEvent): Problem[] {
  const problems = OF_A_DRAFT.filter((param) => given[param] !== undefined).map(
    (param): Problem => ({
      code: 'event_already_published',
      message: `${param} can be changed only in a draft, and the event ${event.id} is published: leave it out.`,
      param,
    }),
  )
  if (given.doors_at === undefined) return problems
  return [
    {
      code: 'use_reschedule',
      message: `doors_at of an event that is published is changed with POST /v2/events/${event.id}/reschedule.`,
      param: 'doors_at',
    },
    ...problems,
  ]
}
