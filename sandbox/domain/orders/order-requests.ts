import * as z from 'zod'
import { reference } from '../requests/fields.js'
import { LIMITS } from '../requests/limits.js'

/** `POST /v2/sandbox/orders`. */
export const createOrderBody = z
  .strictObject({
    event_id: reference('evt'),
    ticket_tier_id: reference('tkt').meta({ description: 'The id of a tier of that event.' }),
    quantity: z.int().min(1).max(LIMITS.orderQuantity),
  })
  .meta({ id: 'CreateOrderBody', title: 'Order to fake' })

export type CreateOrder = z.infer<typeof createOrderBody>
