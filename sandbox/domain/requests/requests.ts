/** What callers may send: one schema for each body and query, which checks them and describes them. */
export {
  createEventBody,
  emptyBody,
  rescheduleEventBody,
  updateEventBody,
} from '../events/event-requests.js'
export { createOrderBody } from '../orders/order-requests.js'
export { createVenueBody } from '../venues/venue-requests.js'
export { listEventsQuery, listVenuesQuery } from './list-queries.js'
