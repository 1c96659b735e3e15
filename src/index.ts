export {
  type AnyWebhookError,
  type BodyCode,
  BodyError,
  ConfigurationError,
  Discard,
  isDiscard,
  isWebhookError,
  type PayloadCode,
  PayloadError,
  type PayloadIssue,
  RetryLater,
  type RunCode,
  RunError,
  type StoreCode,
  StoreError,
  type UnavailableCode,
  UnavailableError,
  type VerificationCode,
  WebhookError,
  WebhookVerificationError,
} from './errors.js'
export {
  type AnyEvent,
  type Envelope,
  EVENT_KINDS,
  type EventCancelledEvent,
  type EventDataByKind,
  type EventKind,
  type EventLifecycleEvent,
  type EventOf,
  type EventPublishedEvent,
  type EventRescheduledEvent,
  isKind,
  isKnownEvent,
  type JsonObject,
  type JsonValue,
  type KindOf,
  type OrderCreatedData,
  type OrderCreatedEvent,
  type OrderTicket,
  type UnknownEvent,
  type WebhookEvent,
} from './event/events.js'
export type { HandledEvent, Handler, HandlerContext, Handlers } from './event/handlers.js'
export type { KeyContext, KeyFunction } from './event/key.js'
export {
  type SchemaIssue,
  type SchemaMap,
  type SchemaResult,
  type StandardSchemaV1,
  unchecked,
} from './event/schema.js'
export type { FailedDelivery, FailureState, ParkTerms } from './ledger/failure.js'
export type {
  Change,
  Inbox,
  InboxConnections,
  LedgerInbox,
  OnceRequest,
  OnceResult,
  OnceRun,
  TxOf,
} from './ledger/inbox.js'
export type {
  EventFailure,
  EventFilter,
  EventGroup,
  EventPosition,
  EventQuery,
  EventRecord,
  EventState,
  Ledger,
} from './ledger/ledger.js'
export {
  type Eviction,
  type MemoryStore,
  type MemoryStoreOptions,
  memoryStore,
} from './ledger/memory/memory-store.js'
export type {
  ClaimRequest,
  ClaimResult,
  EventFacts,
  HandledRecords,
  IdempotencyStore,
  KeepResult,
  KeepsFailures,
  Lease,
  LedgerStore,
  Purgeable,
  RemoteLedgerStore,
  RemoteStore,
  ReplayTerms,
} from './ledger/store.js'
export { redactError } from './lib/errors/redact-error.js'
export { storable } from './lib/storable.js'
export type { Health, Problem } from './operation/health.js'
export type { Operations, Replayed, ReplayFilter, ReplayOptions } from './operation/operations.js'
export type { BodyReader } from './receiver/body/body.js'
export type { Delivery } from './receiver/delivery.js'
export type { HandledBefore, HandledBeforeContext } from './receiver/handled-before.js'
export type {
  Concurrency,
  DeliveryContext,
  DeliveryRecord,
  ErrorContext,
  ParkAfter,
  WebhookOptions,
} from './receiver/options/options.js'
export {
  type Answer,
  type AnswerOptions,
  answerTo,
  type Outcome,
  type OutcomeCode,
  type OutcomeName,
} from './receiver/outcome.js'
export { createReceiver, type Receiver } from './receiver/receiver.js'
export { type ParseOptions, parseEvent, verifyWebhook } from './receiver/verify-webhook.js'
export { tixWebhooks } from './receiver/wrong-host.js'
export type { Account, AccountFunction } from './signature/account.js'
export type { HeaderValue } from './signature/header.js'
export type { HmacAlgorithm } from './signature/hmac.js'
export type { SignatureOptions } from './signature/scheme.js'
export type { Secret, Secrets } from './signature/secrets.js'
export {
  type SignOptions,
  signPayload,
  type VerifiedSignature,
  type VerifyOptions,
  verifySignature,
} from './signature/signature.js'
