export { envelopes, notEnvelopes } from './arbitraries/envelopes.js'
export {
  anyEvents,
  eventsOf,
  knownEvents,
  lifecycleEvents,
  unknownEvents,
} from './arbitraries/events.js'
export type { HeaderOptions } from './arbitraries/header-parts.js'
export { signatureHeaders } from './arbitraries/headers.js'
export { hostileHeaders } from './arbitraries/hostile-headers.js'
export { secrets, signatureOptions } from './arbitraries/signing.js'
