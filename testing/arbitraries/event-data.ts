import * as fc from 'fast-check'
import type { OrderCreatedData, OrderTicket } from '../../src/index.js'
import { isoUtc } from '../deliveries/dates.js'
import type { PreviousDates, SampleDataByKind, TicketedEvent } from '../deliveries/samples.js'
import { joined, objectsOf, texts } from './json.js'

/** The date to which dates shrink. */
const SHRUNK_MS = Date.UTC(2026, 4, 17, 14)
const MINUTE_MS = 60_000
const CENTURY_SECONDS = 3_155_760_000

const TIERS = ['general admission', 'balcony', 'VIP']
/** Reserved names, without mail or servers (RFC 2606). */
const HOSTS = ['example.com', 'tickets.example.org', 'box-office.example', 'xn--bcher-kva.example']
const STATUSES: readonly TicketedEvent['status'][] = ['on_sale', 'draft', 'sold_out', 'past', 'cancelled']
const REFUND_POLICIES: readonly TicketedEvent['refund_policy'][] = [
  'refundable_24h',
  'anytime',
  'refundable_7d',
  'final',
  'exchange_only',
]
/** Offsets of time zones in minutes, not all of them whole hours. */
const OFFSETS = [120, 0, -300, 330, 345, -210, 780, -660]

/** Times within a hundred years, in milliseconds: most are whole seconds. */
export function moments(): fc.Arbitrary<number> {
  const seconds = fc.integer({ min: -CENTURY_SECONDS / 4, max: (CENTURY_SECONDS * 3) / 4 })
  const ms = fc.oneof(
    { withCrossShrink: true },
    { weight: 3, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.nat(999) },
  )
  return fc.tuple(seconds, ms).map(([past, more]) => SHRUNK_MS + past * 1000 + more)
}

/** The data of `order.created`, with the documented fields. */
export function orderData(): fc.Arbitrary<OrderCreatedData> {
  return objectsOf({
    order: objectsOf({ id: ids('ord_'), total_cents: cents(), buyer_email: emails() }),
    tickets: fc.oneof(
      { withCrossShrink: true },
      { weight: 9, arbitrary: tickets(8) },
      { weight: 1, arbitrary: tickets(150, 'max') },
    ),
  })
}

/**
 * The data of `event.rescheduled`: the event as the API returns it, `updated_at` when it was rescheduled, and its dates before
 * that.
 */
export function rescheduledData(
  statuses: readonly TicketedEvent['status'][] = STATUSES,
): fc.Arbitrary<SampleDataByKind['event.rescheduled']> {
  return fc
    .tuple(
      moments(),
      objectsOf({
        id: ids('evt_'),
        // "No HTML", says the specification.
        title: texts().map((title) => title.replaceAll('<', '‹')),
        slug: slugs(),
        status: fc.constantFrom(...statuses),
        venue_id: ids('ven_'),
        description_md: fc.array(texts()).map((paragraphs) => paragraphs.join('\n\n')),
        gross_cents: cents(),
        refund_policy: fc.constantFrom(...REFUND_POLICIES),
        transferable: fc.boolean(),
      }),
      objectsOf({ host: fc.constantFrom(...HOSTS), query: fc.constantFrom('', '?lang=de&ref=%C3%A9') }),
      objectsOf({ sold: fc.nat(100_000), unsold: fc.nat(100_000) }),
      fc.nat(CENTURY_SECONDS / 10),
      shows(),
    )
    .map(([atMs, fields, { host, query }, { sold, unsold }, ageSeconds, show]) => ({
      event: {
        ...fields,
        url: `https://${host}/e/${fields.slug}${query}`,
        image_url: `https://${host}/images/${fields.slug}.jpg${query}`,
        ...datesOf(atMs, show),
        capacity: sold + unsold,
        sold,
        created_at: isoUtc(atMs - ageSeconds * 1000),
        updated_at: isoUtc(atMs),
      },
      previous_attributes: datesOf(atMs, { ...show, inMinutes: show.inMinutes - show.movedMinutes }),
    }))
}

/** The time of a show: how many minutes from now, how long, and in which time zone. */
interface Show {
  readonly inMinutes: number
  readonly movedMinutes: number
  readonly lastsMinutes: number
  readonly offset: number
  /** The change of the offset during the show, in minutes, as when daylight saving time begins or ends. */
  readonly change: number
}

function shows(): fc.Arbitrary<Show> {
  return objectsOf<Show>({
    inMinutes: fc.integer({ min: -100_000, max: 1_000_000 }),
    movedMinutes: fc.integer({ min: -500_000, max: 500_000 }).map((minutes) => minutes || 10_080),
    lastsMinutes: fc.oneof({ withCrossShrink: true }, fc.constant(240), fc.integer({ min: 1, max: 10_000 })),
    offset: fc.constantFrom(...OFFSETS),
    change: fc.constantFrom(0, 0, 0, 60, -60),
  })
}

function datesOf(atMs: number, { inMinutes, lastsMinutes, offset, change }: Show): PreviousDates {
  const opensMs = (Math.floor(atMs / MINUTE_MS) + inMinutes) * MINUTE_MS
  return {
    doors_at: isoLocal(opensMs, offset),
    ends_at: isoLocal(opensMs + lastsMinutes * MINUTE_MS, offset + change),
  }
}

function tickets(maxLength: number, size?: 'max'): fc.Arbitrary<OrderTicket[]> {
  const tier = fc.oneof({ withCrossShrink: true }, fc.constantFrom(...TIERS), texts())
  return fc.uniqueArray(objectsOf({ id: ids('tik_'), tier }), {
    selector: ({ id }) => id,
    maxLength,
    ...(size && { size }),
  })
}

/** Ids with a prefix. */
function ids(prefix: string): fc.Arbitrary<string> {
  const unit = fc.constantFrom(...'0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ')
  return joined(unit, { minLength: 1, maxLength: 32 }).map((rest) => `${prefix}${rest}`)
}

/** Amounts: often 0, and sometimes more than 32 bits hold. */
function cents(): fc.Arbitrary<number> {
  return fc.oneof(
    { withCrossShrink: true },
    { weight: 1, arbitrary: fc.constant(0) },
    { weight: 6, arbitrary: fc.nat(100_000) },
    { weight: 1, arbitrary: fc.nat(1_000_000_000_000) },
  )
}

/** Addresses with any local part, at hosts without mail. */
function emails(): fc.Arbitrary<string> {
  return fc
    .tuple(fc.emailAddress(), fc.constantFrom(...HOSTS))
    .map(([address, host]) => `${address.slice(0, address.lastIndexOf('@'))}@${host}`)
}

function slugs(): fc.Arbitrary<string> {
  const word = joined(fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz0123456789'), { minLength: 1 })
  return fc.array(word, { minLength: 1 }).map((words) => words.join('-'))
}

function isoLocal(ms: number, offsetMinutes: number): string {
  const digits = (value: number): string => String(value).padStart(2, '0')
  const away = Math.abs(offsetMinutes)
  const offset = `${offsetMinutes < 0 ? '-' : '+'}${digits(Math.floor(away / 60))}:${digits(away % 60)}`
  return isoUtc(ms + offsetMinutes * MINUTE_MS).replace('Z', offset)
}
