import * as z from 'zod'
import { description, image, line, moment, reference, refusal, rule, title } from '../requests/fields.js'
import { LIMITS } from '../requests/limits.js'
import { NOT_SHOWN, refundPolicy } from '../resources.js'
import { createVenueBody } from '../venues/venue-requests.js'

const tier = z
  .strictObject({
    name: line(LIMITS.tierNameCharacters).meta({
      description: 'Unique in the event: a webhook names a tier by it alone.',
    }),
    price_cents: z.int().min(0).max(LIMITS.priceCents).meta({ description: 'In minor units; 0 is free.' }),
    quantity: z.int().min(1).max(LIMITS.tierQuantity),
  })
  .meta({ id: 'TicketTierBody', title: 'Ticket tier as it is given' })

const tickets = z
  .array(tier)
  .min(1)
  .max(LIMITS.tiers)
  .superRefine((tiers, context) => {
    const first = new Map<string, number>()
    for (const [index, { name }] of tiers.entries()) {
      const before = first.get(name)
      if (before === undefined) first.set(name, index)
      else {
        context.addIssue({
          code: 'custom',
          path: [index, 'name'],
          message: `is that of tickets[${before}] too: name each tier differently`,
          ...refusal('duplicate_tier_name'),
        })
      }
    }
  })

const doorsAt = moment('with offset').meta({
  description: 'ISO 8601 with a timezone offset. It is answered as it was sent.',
})
const endsAt = moment('with offset').meta({
  description: 'ISO 8601 with a timezone offset, later than doors_at.',
})
const onSaleAt = moment('offset optional').meta({
  description: 'Schedules the go-live, before ends_at. Without an offset it is UTC.',
})
const venueId = reference('ven').meta({ description: 'The id of one of GET /v2/venues.' })

/** `POST /v2/events`. */
export const createEventBody = z
  .strictObject({
    title,
    venue_id: venueId.optional(),
    venue: createVenueBody.optional().meta({ description: 'In place of venue_id: creates the venue.' }),
    doors_at: doorsAt,
    ends_at: endsAt.optional().meta({ description: 'Default: doors_at plus 4 hours, in the same offset.' }),
    tickets,
    description_md: description.optional(),
    image: image.optional(),
    refund_policy: refundPolicy.default('refundable_24h'),
    transferable: z.boolean().default(true),
    on_sale_at: onSaleAt.optional(),
  })
  .refine(
    ({ venue_id, venue }) => venue_id !== undefined || venue !== undefined,
    rule(
      'parameter_missing',
      'venue_id',
      'is missing: give the id of one of GET /v2/venues, or a venue to create it',
    ),
  )
  .refine(
    ({ venue_id, venue }) => venue_id === undefined || venue === undefined,
    rule('parameter_conflict', 'venue', 'cannot be given together with venue_id: give one of the two'),
  )
  .meta({
    id: 'CreateEventBody',
    title: 'Event to create',
    oneOf: [{ required: ['venue_id'] }, { required: ['venue'] }],
  })

/** `PATCH /v2/events/{id}`, whose fields the specification does not show. */
export const updateEventBody = z
  .strictObject({
    title: title.optional(),
    description_md: description.nullable().optional().meta({ description: 'null takes it away.' }),
    image: image.nullable().optional().meta({ description: 'null takes it away.' }),
    refund_policy: refundPolicy.optional(),
    transferable: z.boolean().optional(),
    ends_at: endsAt.optional(),
    doors_at: doorsAt.optional().meta({ description: 'Of a draft. Afterwards, reschedule the event.' }),
    venue_id: venueId.optional().meta({ description: 'Of a draft.' }),
    on_sale_at: onSaleAt
      .nullable()
      .optional()
      .meta({ description: 'Of a draft. null takes it away: then it is published by hand.' }),
    tickets: tickets.optional().meta({
      description:
        'The whole list. A tier of a name that was there before is that tier. Once tickets are sold, a tier keeps at least these.',
    }),
  })
  .meta({ id: 'UpdateEventBody', title: 'What to change of an event', ...NOT_SHOWN })

/** `POST /v2/events/{id}/reschedule`, whose fields the specification does not show. */
export const rescheduleEventBody = z
  .strictObject({
    doors_at: doorsAt.meta({ description: 'Another moment than before, and one that lies ahead.' }),
    ends_at: endsAt.optional().meta({ description: 'Default: the event is as long as before.' }),
  })
  .meta({ id: 'RescheduleEventBody', title: 'New dates of an event', ...NOT_SHOWN })

/** `POST /v2/events/{id}/publish` and `/cancel`, whose fields the specification does not show. */
export const emptyBody = z
  .strictObject({})
  .meta({ id: 'EmptyBody', title: 'Nothing: none or {}', ...NOT_SHOWN })

export type CreateEvent = z.infer<typeof createEventBody>
export type UpdateEvent = z.infer<typeof updateEventBody>
export type TierInput = z.infer<typeof tier>

/** Read-only fields of an event, with advice. */
export const SET_BY_SERVICE: Readonly<Record<string, string>> = {
  id: 'the service makes it',
  slug: 'the service makes it of the title, once',
  url: 'the service makes it of the slug',
  status: 'publish or cancel the event instead',
  image_url: 'give image instead',
  capacity: 'it is the sum of the quantities of the tickets',
  sold: 'it rises with the orders',
  gross_cents: 'it rises with the orders',
  created_at: 'the service sets it',
  updated_at: 'the service sets it',
}
