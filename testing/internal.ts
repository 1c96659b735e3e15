/** Exports for our own sandbox and command line, beside the public ones: no part of the package. */
export { toEpochMs } from './deliveries/dates.js'
export { areMicrotasksFake, isFakeTimer } from './deliveries/streamed-body.js'
export { isSuccessStatus, nextAttempt, retryAfterSeconds } from './retries/retry-schedule.js'
