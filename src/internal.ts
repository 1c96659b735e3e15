/** Shared by our own adapters, stores and testing kit, and not needed by users: no subpath, and no promise. */
export {
  BURST_WAIT_MS,
  BUSY_TIMEOUT_MS,
  CANCEL_AFTER_MS,
  CHECK_LOCK_MS,
  COMMIT_MS,
  DEFAULT_IDLE_SECONDS,
  DEFAULT_MAX_RUN_SECONDS,
  DEFAULT_PURGE_SECONDS,
  DEFAULT_RETENTION_SECONDS,
  DEFAULT_TOLERANCE_SECONDS,
  FIRST_PURGE_SECONDS,
  LEAVE_EVERY_MS,
  MAX_IDLE_SECONDS,
  OBJECT_PURGE_MS,
  RECOUNT_MS,
  RESET_CHECK_MS,
  RETRY_SECONDS,
  ROLLBACK_MARGIN_MS,
  ROLLBACK_MS,
  STATEMENT_MS,
  STORE_CALL_MS,
} from './durations.js'
export { codeOf } from './errors.js'
export { tokenSource } from './ledger/guard.js'
export { recordOf } from './ledger/memory/memory-ledger.js'
export {
  type CheckedFilter,
  type CheckedQuery,
  checkEventFilter,
  checkEventQuery,
  checkGroupLimit,
  checkReason,
} from './ledger/rules.js'
export { isLedger } from './ledger/store.js'
export {
  type EventRow,
  isLive,
  type LedgerAnswer,
  type LedgerCall,
  type LedgerTime,
  type OpenResult,
  type Transition,
  transition,
} from './ledger/transition.js'
export { type Caller, checkedFor } from './lib/call-site.js'
export { checkAscii, checkKey } from './lib/check-key.js'
export { checkTimerSeconds, checkWholeNumber } from './lib/check-number.js'
export { describeType, describeValue } from './lib/describe-type.js'
export { messageOf } from './lib/errors/read-error.js'
export { shownMessageOf } from './lib/errors/redact-error.js'
export { checkNodeVersion } from './lib/node-version.js'
export { checkOptionNames, isPlainObject, isRecord } from './lib/option-names.js'
export { callSafely, deferred, ignoreRejection } from './lib/promises.js'
export { sharedMap } from './lib/shared-map.js'
export { storableText } from './lib/storable.js'
export { within } from './lib/time/alarm-clock.js'
export { checkedClock, monotonicMs, pause, startBackgroundTimer, systemClock } from './lib/time/clock.js'
export { operationsOf } from './operation/operations.js'
export { alreadyRead, checkChunk, checkLength, wentAway } from './receiver/body/body.js'
export { settled } from './receiver/handler-result.js'
export { checkRetentionSeconds } from './receiver/options/retention.js'
export { outcomeOfFault, wantsRetry } from './receiver/outcome.js'
export { createReceiverFor } from './receiver/receiver.js'
export { answerWrongHost } from './receiver/wrong-host.js'
export { MAX_SIGNATURES } from './signature/header.js'
export { checkTolerance, signatureScheme, toUnit } from './signature/scheme.js'
export { signedHeaders } from './signature/signature.js'
