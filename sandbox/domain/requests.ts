/** What callers may send: one schema for each body and query, which checks them and describes them. */
export {
  createEventBody,
  emptyBody,
  rescheduleEventBody,
  updateEventBody,
} from './event-requests.js'
export { listEventsQuery, listVenuesQuery } from './list-queries.js'
export { createOrderBody } from './order-requests.js'
export { createVenueBody } from './venue-requests.js'
