export { envelopes, notEnvelopes } from './arbitraries/envelopes.js'
export { eventsOf, knownEvents, unknownEvents } from './arbitraries/events.js'
