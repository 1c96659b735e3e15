import * as z from 'zod'
import { line, refusal } from '../requests/fields.js'
import { LIMITS } from '../requests/limits.js'
import { NOT_SHOWN } from '../resources.js'

const text = line(LIMITS.venueTextCharacters)

/** A name of the IANA time zone database, as this runtime knows it. An offset such as `+01:00` is not a name. */
function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

/** A venue as it is given: the `venue` of `POST /v2/events`, whose fields the specification does not show. */
export const createVenueBody = z
  .strictObject({
    name: text,
    address: text.optional(),
    city: text.optional(),
    country: text.optional(),
    timezone: z
      .string()
      .refine(isTimeZone, {
        error: 'must be the name of an IANA time zone, such as Europe/Lisbon',
        ...refusal('parameter_invalid'),
      })
      .default('UTC')
      .meta({ description: 'The name of an IANA time zone.' }),
    capacity: z.int().min(1).max(LIMITS.venueCapacity).optional(),
  })
  .meta({ id: 'CreateVenueBody', title: 'Venue to create', ...NOT_SHOWN })

export type CreateVenue = z.infer<typeof createVenueBody>
