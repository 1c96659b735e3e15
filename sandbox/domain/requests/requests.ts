/** The requests of callers: one schema for each body and query, which validates and documents it. */
export {
  createEventBody,
  emptyBody,
  rescheduleEventBody,
  updateEventBody,
} from '../events/event-requests.js'
export { createOrderBody } from '../orders/order-requests.js'

export { listEventsQuery, listVenuesQuery } from './list-queries.js'
