import type { OrderCreatedData, OrderTicket } from '../../src/index.js'
import { isoUtc } from './dates.js'

/**
 * The data of the samples, by kind. The payloads of the `event.*` kinds are not documented: the samples have the event as the
 * API returns it, in the place where `order.created` has the order.
 */
export interface SampleDataByKind {
  'order.created': OrderCreatedData
  'event.published': { event: TicketedEvent }
  'event.cancelled': { event: TicketedEvent }
  'event.rescheduled': { event: TicketedEvent; previous_attributes: PreviousDates }
}

/** The event that tickets are sold for, as the service's API returns it. */
export interface TicketedEvent {
  /** Begins with `evt_`. */
  id: string
  title: string
  slug: string
  url: string
  status: 'draft' | 'on_sale' | 'sold_out' | 'past' | 'cancelled'
  /** Begins with `ven_`. */
  venue_id: string
  /** ISO 8601 with the offset of the time zone. */
  doors_at: string
  /** ISO 8601 with the offset of the time zone. */
  ends_at: string
  /** Markdown, sanitized by the service. */
  description_md: string
  image_url: string
  capacity: number
  sold: number
  /** In minor units of the currency. */
  gross_cents: number
  refund_policy: 'anytime' | 'refundable_24h' | 'refundable_7d' | 'final' | 'exchange_only'
  transferable: boolean
  /** ISO 8601, UTC. */
  created_at: string
  /** ISO 8601, UTC. */
  updated_at: string
}

/** The dates of a rescheduled event before the change. */
export interface PreviousDates {
  doors_at: string
  ends_at: string
}

/** The source of a sample: the same one gives the same sample. */
export interface SampleRequest {
  readonly seed: number
  /** The beginning of its ids: empty if they are to be the same in each process. */
  readonly prefix: string
  /** The time of the event, in milliseconds since the epoch. */
  readonly atMs: number
  /** The number of tickets of an order. */
  readonly tickets?: number | undefined
}

export const MAX_SEED = 0xffff_ffff

/** The default time of the first sample. */
const FIRST_MS = Date.UTC(2026, 4, 17, 14, 2, 11)

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

const TIERS = ['general admission', 'balcony', 'front of stage', 'VIP']
const PRICES_CENTS = [1800, 2700, 3550, 6400]
const TITLES = ['Night of Short Films', 'Harbour Jazz', 'The Quiet Orchestra', 'Comedy in the Yard']
const CAPACITIES = [120, 350, 800]

/** The default time of a sample: a minute in the week after the first. */
export function sampleTime(seed: number): number {
  return FIRST_MS + (seed % 10_000) * MINUTE_MS
}

export const SAMPLES: {
  readonly [Kind in keyof SampleDataByKind]: (request: SampleRequest) => SampleDataByKind[Kind]
} = {
  'order.created': sampleOrder,
  'event.published': (request) => ({ event: sampleEventObject(request, 'on_sale') }),
  'event.cancelled': (request) => ({ event: sampleEventObject(request, 'cancelled') }),
  'event.rescheduled': (request) => {
    const event = sampleEventObject(request, 'on_sale')
    const { doors_at, ends_at } = doors(doorsMs(request) - 7 * DAY_MS)
    return { event, previous_attributes: { doors_at, ends_at } }
  },
}

function sampleOrder({ seed, prefix, tickets = 1 + (seed % 3) }: SampleRequest): OrderCreatedData {
  const id = `${prefix}${sampleId(seed)}`
  const tier = pick(TIERS, seed)
  return {
    order: {
      id: `ord_${id}`,
      total_cents: tickets * pick(PRICES_CENTS, seed),
      buyer_email: `buyer.${id}@example.com`,
    },
    tickets: Array.from(
      { length: tickets },
      (_, index): OrderTicket => ({ id: `tik_${id}${index + 1}`, tier }),
    ),
  }
}

function sampleEventObject(request: SampleRequest, status: TicketedEvent['status']): TicketedEvent {
  const { seed, atMs, prefix } = request
  const id = `${prefix}${sampleId(seed)}`
  const title = pick(TITLES, seed)
  const slug = `${title.toLowerCase().replaceAll(' ', '-')}-${id}`
  const capacity = pick(CAPACITIES, seed)
  const sold = seed % capacity
  return {
    id: `evt_${id}`,
    title,
    slug,
    url: `https://tickets.example.com/e/${slug}`,
    status,
    venue_id: `ven_${sampleId(seed % 7)}`,
    ...doors(doorsMs(request)),
    description_md: `**${title}**, doors one hour before the show.`,
    image_url: `https://tickets.example.com/images/${slug}.jpg`,
    capacity,
    sold,
    gross_cents: sold * pick(PRICES_CENTS, seed),
    refund_policy: 'refundable_24h',
    transferable: true,
    created_at: isoUtc(atMs - 3 * DAY_MS),
    updated_at: isoUtc(atMs),
  }
}

/** Doors open at 19:30 local time, two to four weeks later. In milliseconds as if it were UTC. */
function doorsMs({ seed, atMs }: SampleRequest): number {
  const days = 14 + (seed % 14)
  return Math.floor(atMs / DAY_MS) * DAY_MS + days * DAY_MS + 19.5 * HOUR_MS
}

/** The dates of a show in a time zone two hours ahead of UTC. It ends four hours after its doors, the service's default. */
function doors(ms: number): PreviousDates {
  const local = (utcMs: number): string => isoUtc(utcMs).replace('Z', '+02:00')
  return { doors_at: local(ms), ends_at: local(ms + 4 * HOUR_MS) }
}

/** Eight digits that look random, and different for each seed, because every step is invertible. */
function sampleId(seed: number): string {
  let bits = (seed + 0x9e37_79b9) >>> 0
  bits = Math.imul(bits ^ (bits >>> 16), 0x85eb_ca6b) >>> 0
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2_ae35) >>> 0
  return ((bits ^ (bits >>> 16)) >>> 0).toString(16).padStart(8, '0')
}

function pick<Item>(items: readonly [Item, ...Item[]] | readonly Item[], seed: number): Item {
  return items[seed % items.length] as Item
}
