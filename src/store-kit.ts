export { isDiscard, StoreError } from './errors.js'
export { type CheckedChange, checkChanges } from './idempotency/change.js'
export { createPurger, type Purgeable, type Purger } from './idempotency/purge.js'
export {
  checkClaim,
  checkComplete,
  checkOnce,
  checkRelease,
  checkRenew,
} from './idempotency/store-rules.js'
export { type Caller, checkedFor } from './lib/call-site.js'
export { checkWholeNumber } from './lib/check-number.js'
export { describeType, describeValue } from './lib/describe-type.js'
export { messageOf } from './lib/errors/message-of.js'
export { checkOptionNames } from './lib/option-names.js'
export { settled } from './lib/returned.js'
export { within } from './lib/time/alarm-clock.js'
export { checkedClock } from './lib/time/clock.js'
export { checkRetentionSeconds } from './receiver/options/retention.js'
