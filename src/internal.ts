/** Shared by our own adapters, stores and testing kit, and not needed by users: no subpath, and no promise. */
export {
  BURST_WAIT_MS,
  BUSY_TIMEOUT_MS,
  CHECK_LOCK_MS,
  COMMIT_MS,
  DEFAULT_IDLE_SECONDS,
  DEFAULT_MAX_RUN_SECONDS,
  DEFAULT_REPLICA_TIMEOUT_MS,
  DEFAULT_RETENTION_SECONDS,
  DEFAULT_TOLERANCE_SECONDS,
  LEAVE_EVERY_MS,
  MAX_IDLE_SECONDS,
  OBJECT_PURGE_MS,
  RECOUNT_MS,
  REPLICAS_EXPLAINED_MS,
  ROLLBACK_MARGIN_MS,
  ROLLBACK_MS,
  STATEMENT_MS,
  STORE_CALL_MS,
} from './durations.js'
export { failureIn, groupIn } from './failures/kept-rows.js'
export { bytesIn, hexOf } from './failures/kept-text.js'
export {
  type CheckedFilter,
  type CheckedQuery,
  checkFailureFilter,
  checkFailureLimit,
  checkFailureQuery,
  checkFailureRetention,
  type Position,
} from './failures/rules.js'
export { createBursts } from './idempotency/bursts.js'
export { checkChanges } from './idempotency/change.js'
export { handedBy } from './idempotency/handed-transaction.js'
export { keepInTurn } from './idempotency/keep-in-turn.js'
export { createPurger } from './idempotency/purge.js'
export { sharedConnections } from './idempotency/shared-connections.js'
export { checkedStore, checkOnce } from './idempotency/store-rules.js'
export { tokenSource } from './idempotency/token.js'
export { type ScopeState, type TransactionScope, transactionScope } from './idempotency/transaction-scope.js'
export { callSafely } from './lib/call-safely.js'
export { checkedFor } from './lib/call-site.js'
export { checkKey } from './lib/check-key.js'
export { checkWholeNumber } from './lib/check-number.js'
export { deferred } from './lib/deferred.js'
export { describeType, describeValue } from './lib/describe-type.js'
export { isOfCertificate } from './lib/errors/certificate.js'
export { messageOf } from './lib/errors/message-of.js'
export { settled } from './lib/handler-result.js'
export { hasMethod } from './lib/has-method.js'
export { checkNodeVersion } from './lib/node-version.js'
export { checkOptionNames, isRecord } from './lib/option-names.js'
export { isPlaceholder } from './lib/placeholder.js'
export { sharedMap } from './lib/shared-map.js'
export { storableText } from './lib/storable.js'
export { within } from './lib/time/alarm-clock.js'
export { checkedClock, systemClock } from './lib/time/clock.js'
export { monotonicMs } from './lib/time/timers.js'
export { unexpectedRows } from './lib/unexpected-rows.js'
export { operationsOf } from './receiver/operation/operations.js'
export { checkRetentionSeconds } from './receiver/options/retention.js'
export { createRouteReceiver } from './receiver/route-receiver.js'
export { answerWrongHost } from './receiver/wrong-host.js'
export { MAX_HEADER_LENGTH, MAX_SIGNATURES, readSignature, writeSignature } from './signature/header.js'
export { checkTolerance, signatureScheme, toUnit } from './signature/scheme.js'
export { signedHeaders } from './signature/signature.js'
