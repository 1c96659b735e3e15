import * as z from 'zod'
import { readMoment } from '../events/moments.js'
import { eventStatus, NOT_SHOWN } from '../resources.js'
import { moment, reference, rule } from './fields.js'
import { DEFAULT_PAGE_SIZE, LIMITS } from './limits.js'

const ONE_DIRECTION = rule(
  'parameter_conflict',
  'ending_before',
  'cannot be given together with starting_after: a page goes in one direction',
)

/** The parameters of a page. `limit` is a number here: `validateQuery` reads it from its digits. */
const page = (prefix: string) => ({
  limit: z
    .int()
    .min(1)
    .max(LIMITS.pageSize)
    .default(DEFAULT_PAGE_SIZE)
    .meta({ description: 'How many the page has at most.' }),
  starting_after: reference(prefix)
    .optional()
    .meta({ description: 'The cursor: an id. The page has what follows it in the list: what is older.' }),
  ending_before: reference(prefix)
    .optional()
    .meta({ description: 'The cursor: an id. The page has what is before it in the list: what is newer.' }),
})

/** `GET /v2/events`. */
export const listEventsQuery = z
  .strictObject({
    status: eventStatus.optional(),
    venue_id: reference('ven').optional(),
    starts_after: moment('day or moment')
      .optional()
      .meta({ description: 'Events whose doors_at is this or later. Without an offset it is UTC.' }),
    starts_before: moment('day or moment')
      .optional()
      .meta({ description: 'Events whose doors_at is earlier than this. Without an offset it is UTC.' }),
    ...page('evt'),
  })
  .refine(hasOneDirection, ONE_DIRECTION)
  .refine(
    isRange,
    rule(
      'parameter_conflict',
      'starts_before',
      'is earlier than starts_after: there is nothing between them',
    ),
  )

export type ListEvents = z.infer<typeof listEventsQuery>

/** `GET /v2/venues`, whose parameters the specification does not show. */
export const listVenuesQuery = z
  .strictObject(page('ven'))
  .refine(hasOneDirection, ONE_DIRECTION)
  .meta({ ...NOT_SHOWN })

export type PageQuery = z.infer<typeof listVenuesQuery>

interface Cursors {
  readonly starting_after?: string | undefined
  readonly ending_before?: string | undefined
}

function hasOneDirection({ starting_after, ending_before }: Cursors): boolean {
  return starting_after === undefined || ending_before === undefined
}

/** The range must not be negative. An invalid date is refused by its own field. */
function isRange(query: { starts_after?: string | undefined; starts_before?: string | undefined }): boolean {
  const [after, before] = [query.starts_after, query.starts_before].map((text) =>
    typeof text === 'string' ? readMoment(text, 'day or moment') : text,
  )
  return typeof after !== 'object' || typeof before !== 'object' || after.ms <= before.ms
}
