import * as z from 'zod'

/** Marks, in the description of the interface, what the specification does not show: an assumption of the sandbox. */
export const NOT_SHOWN = { 'x-not-shown': true } as const

/** An id: its prefix is shown in the specification, its length and alphabet are not. */
const id = (prefix: string) => z.string().regex(new RegExp(`^${prefix}_[0-9A-Za-z]+$`))

/** ISO 8601 in UTC. */
const utc = z.iso.datetime()
/** ISO 8601 with the offset of its time zone; the seconds may be left out, as they may be when it is given. */
const zoned = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/)
const cents = z.int().min(0)

export const EVENT_STATUSES = ['draft', 'on_sale', 'sold_out', 'past', 'cancelled'] as const
export const REFUND_POLICIES = [
  'anytime',
  'refundable_24h',
  'refundable_7d',
  'final',
  'exchange_only',
] as const

export const eventStatus = z.enum(EVENT_STATUSES)
export const refundPolicy = z.enum(REFUND_POLICIES)

/** An event, with the documented fields and no others. */
export const eventObject = z
  .strictObject({
    id: id('evt'),
    title: z.string(),
    slug: z.string(),
    url: z.url(),
    status: eventStatus,
    venue_id: id('ven'),
    doors_at: zoned,
    ends_at: zoned,
    description_md: z
      .string()
      .nullable()
      .meta({ description: 'null where none was given', ...NOT_SHOWN }),
    image_url: z
      .url()
      .nullable()
      .meta({ description: 'null where none was given', ...NOT_SHOWN }),
    capacity: z.int().min(0),
    sold: z.int().min(0),
    gross_cents: cents,
    refund_policy: refundPolicy,
    transferable: z.boolean(),
    created_at: utc,
    updated_at: utc,
  })
  .meta({ id: 'Event', title: 'Event' })

/** A ticket tier, as the event that was created shows it. */
export const ticketTier = z
  .strictObject({ id: id('tkt'), name: z.string(), price_cents: cents, quantity: z.int().min(1) })
  .meta({ id: 'TicketTier', title: 'Ticket tier', ...NOT_SHOWN })

/** The response to creating an event: the event with its tiers. */
export const createdEvent = z
  .strictObject({ ...eventObject.shape, tickets: z.array(ticketTier).min(1) })
  .meta({ id: 'CreatedEvent', title: 'Event with its ticket tiers' })

export const venueObject = z
  .strictObject({
    id: id('ven'),
    name: z.string(),
    address: z.string().nullable(),
    city: z.string().nullable(),
    country: z.string().nullable(),
    timezone: z.string(),
    capacity: z.int().min(1).nullable(),
    created_at: utc,
  })
  .meta({ id: 'Venue', title: 'Venue', ...NOT_SHOWN })

/** The response to a sandbox order. */
export const orderResult = z
  .strictObject({
    order: z.strictObject({
      id: id('ord'),
      event_id: id('evt').meta(NOT_SHOWN),
      total_cents: cents,
      buyer_email: z.email(),
    }),
    tickets: z
      .array(
        z.strictObject({
          id: id('tik'),
          tier: z.string(),
          scan_token: z.string().meta(NOT_SHOWN),
          wallet_pass_url: z.url().meta(NOT_SHOWN),
        }),
      )
      .min(1),
  })
  .meta({ id: 'OrderResult', title: 'Order with its tickets' })

/** `data` of each kind of webhook. */
export const webhookData = {
  'order.created': z.strictObject({
    order: z.strictObject({ id: id('ord'), total_cents: cents, buyer_email: z.email() }),
    tickets: z.array(z.strictObject({ id: id('tik'), tier: z.string() })).min(1),
  }),
  'event.published': z.strictObject({ event: eventObject }).meta(NOT_SHOWN),
  'event.cancelled': z.strictObject({ event: eventObject }).meta(NOT_SHOWN),
  'event.rescheduled': z
    .strictObject({
      event: eventObject,
      previous_attributes: z.strictObject({ doors_at: zoned, ends_at: zoned }),
    })
    .meta(NOT_SHOWN),
} as const

export type EventStatus = z.infer<typeof eventStatus>
export type RefundPolicy = z.infer<typeof refundPolicy>
export type EventObject = z.infer<typeof eventObject>
export type TicketTier = z.infer<typeof ticketTier>
export type CreatedEvent = z.infer<typeof createdEvent>
export type VenueObject = z.infer<typeof venueObject>
export type OrderResult = z.infer<typeof orderResult>
export type WebhookKind = keyof typeof webhookData
export type WebhookData = { [Kind in WebhookKind]: z.infer<(typeof webhookData)[Kind]> }
