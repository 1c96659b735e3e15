import type { Random } from '../../lib/random.js'
import type { EventRecord } from '../records.js'
import { type Problem, Refusal } from '../refusal.js'
import { refuseIfAny } from '../requests/missing.js'
import { sanitizeMarkdown } from '../text/sanitize-markdown.js'
import { datesOf, problemsOfDates } from './dates.js'
import type { CreateEvent } from './event-requests.js'
import { capacityOf, tiersOf } from './tiers.js'

/** The records that a new event is added to. */
export interface Place {
  readonly index: number
  /** ISO 8601 UTC. */
  readonly now: string
  readonly random: Random
  readonly isSlugTaken: (slug: string) => boolean
}

/**
 * Returns the dates of a new event, if they and its venue are valid.
 *
 * @throws Refusal
 */
export function checkCreation(given: CreateEvent, problemOfVenue: (venueId: string) => Problem | undefined) {
  const dates = datesOf(given)
  const unknownVenue = given.venue_id === undefined ? undefined : problemOfVenue(given.venue_id)
  refuseIfAny([unknownVenue, ...('code' in dates ? [dates] : problemsOfDates(dates, given))])
  if ('code' in dates) throw new Refusal(dates)
  return dates
}

/** The record of a new event: a draft. */
export function makeEvent(
  given: CreateEvent,
  dates: Pick<EventRecord, 'doorsAt' | 'endsAt' | 'onSaleAt'>,
  venueId: string,
  { index, now, random, isSlugTaken }: Place,
): EventRecord {
  const id = random.id('evt_')
  const tiers = tiersOf(given.tickets, [], () => random.id('tkt_'))
  return {
    ...dates,
    index,
    id,
    slug: slugOf(given.title, id.slice('evt_'.length), isSlugTaken),
    title: given.title,
    status: 'draft',
    venueId,
    descriptionMd: given.description_md === undefined ? null : sanitizeMarkdown(given.description_md),
    imageUrl: given.image ?? null,
    refundPolicy: given.refund_policy,
    transferable: given.transferable,
    tiers,
    capacity: capacityOf(tiers),
    sold: 0,
    grossCents: 0,
    orders: [],
    createdAt: now,
    updatedAt: now,
    timer: undefined,
  }
}

const MAX_TITLE_PART = 60
const ID_PART = 6

/**
 * The part of the public URL: the title in small Latin letters and digits, then the first 6 characters of the id, or more where
 * these are taken.
 *
 * @param id without its prefix
 */
function slugOf(title: string, id: string, isTaken: (slug: string) => boolean): string {
  const words = title
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, MAX_TITLE_PART)
    .replace(/-$/, '')
  for (let length = ID_PART; ; length += 1) {
    const slug = `${words || 'event'}-${id.slice(0, length).toLowerCase()}`
    if (length >= id.length || !isTaken(slug)) return slug
  }
}
