export type { BodyReader } from './body.js'
export type { Delivery } from './delivery.js'
export {
  type AnyWebhookError,
  type BodyCode,
  BodyError,
  ConfigurationError,
  Discard,
  isWebhookError,
  type PayloadCode,
  PayloadError,
  type PayloadIssue,
  RetryLater,
  type RunCode,
  RunError,
  type StoreCode,
  StoreError,
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
  isEventLifecycle,
  isKind,
  isKnownEvent,
  isOrderCreated,
  type JsonObject,
  type JsonValue,
  type Narrowed,
  type NarrowedDocumented,
  type OrderCreatedData,
  type OrderCreatedEvent,
  type OrderTicket,
  type TicketedEvent,
  type UnknownEvent,
  type WebhookEvent,
} from './events.js'
export type {
  EventForKey,
  EventOfKind,
  GroupOf,
  HandledEvent,
  Handler,
  HandlerContext,
  Handlers,
  KindOf,
} from './handlers.js'
export type { HmacAlgorithm } from './hmac.js'
export type { Inbox, OnceRequest, OnceResult } from './inbox.js'
export type { KeyFunction } from './key.js'
export { type Eviction, type MemoryStoreOptions, memoryStore } from './memory-store.js'
export type { DeliveryRecord, ErrorContext, WebhookOptions } from './options.js'
export { type Answer, answerTo, type Outcome, type OutcomeCode, type OutcomeName } from './outcome.js'
export { type ParseOptions, parseEvent, verifyWebhook } from './parse-event.js'
export type { Purgeable } from './purge.js'
export { createReceiver, type Receiver } from './receiver.js'
export {
  type OutputOf,
  type SchemaIssue,
  type SchemaMap,
  type SchemaResult,
  type StandardSchemaV1,
  unchecked,
} from './schema.js'
export type { Secret, Secrets } from './secrets.js'
export {
  type SignOptions,
  signPayload,
  type Verified,
  type VerifyOptions,
  verifySignature,
} from './signature.js'
export type { HeaderValue } from './signature-header.js'
export type { SignatureOptions } from './signature-scheme.js'
export type { ClaimRequest, ClaimResult, IdempotencyStore, Lease } from './store.js'
