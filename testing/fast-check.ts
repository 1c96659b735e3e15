export { envelopes, notEnvelopes } from './arbitrary-envelopes.js'
export {
  anyEvents,
  eventsOf,
  knownEvents,
  lifecycleEvents,
  orderCreatedEvents,
  unknownEvents,
} from './arbitrary-events.js'
export type { HeaderOptions } from './arbitrary-header-parts.js'
export { signatureHeaders } from './arbitrary-headers.js'
export { hostileHeaders } from './arbitrary-hostile-headers.js'
export { secrets, signatureOptions } from './arbitrary-signing.js'
