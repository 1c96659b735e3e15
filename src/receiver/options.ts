import type { SchemaMap } from '../event/schema.js'
import type { Inbox } from '../idempotency/inbox.js'
import type { IdempotencyStore } from '../idempotency/store.js'
import type { SignatureOptions } from '../signature/scheme.js'
import type { Secrets } from '../signature/secrets.js'
import type { HandledEvent, Handler, Handlers } from './handlers.js'
import type { KeyFunction } from './key.js'
import type { OutcomeCode, OutcomeName } from './outcome.js'

/** Keeps `on` from being where a type is inferred from. TypeScript's own `NoInfer` came with 5.4; this works from 5.0. */
type NotInferred<T> = [T][T extends unknown ? 0 : never]

/**
 * The options of `createReceiver` and of every `tixWebhooks`.
 *
 * @typeParam Request the framework's own request
 * @typeParam Tx the transaction of the inbox; `undefined` without one
 */
export interface WebhookOptions<
  Request = unknown,
  Tx = undefined,
  Schemas extends SchemaMap<keyof Schemas> = Record<never, never>,
> {
  /**
   * The endpoint's signing secret; several while it is rotated; or a function of the request, asked at each delivery, for
   * secrets that live elsewhere. A string is used as its UTF-8 bytes, literally. If the function chooses by tenant,
   * `namespace` must too: a tenant signs what it likes with its own secret, also an event with the id of another's order.
   */
  secret: Secrets | ((request: Request) => Secrets | Promise<Secrets>)
  /**
   * Handlers by kind (`order.created`) and by group (`event.*`); the most specific one runs, exactly one. A plain object: an
   * instance of a class, or an object that inherits its handlers, is refused, and so is an empty one without `onUnhandled`.
   */
  on: Handlers<NotInferred<Schemas>, Request, NotInferred<Tx>>
  /**
   * The handler of every authentic event that `on` does not name. Without it such events are answered 200 and forgotten; if there
   * is no `onDelivery` either, the first of each kind is logged.
   */
  onUnhandled?: Handler<HandledEvent<NotInferred<Schemas>>, Request, NotInferred<Tx>> | undefined
  /** A Standard Schema by kind (zod, valibot, arktype, `unchecked<T>()`): it checks and types that kind's data, and adds kinds. */
  schemas?: Schemas | undefined
  /** Where it is remembered what was handled. Default: a `memoryStore()` of its own, which forgets at each restart. */
  store?: IdempotencyStore | undefined
  /** Instead of `store`: handlers get `ctx.tx`, and what they write through it is committed together with the record of the event. */
  inbox?: Inbox<Tx> | undefined
  /**
   * What sets this endpoint's events apart in a shared store: 1 to 64 characters of `A-Z a-z 0-9 . _ -`. Required with `store`
   * and `inbox`. If several tenants share the endpoint, it must be a function of the request, called at each delivery, that
   * returns another namespace for each of them: within one namespace, one tenant's event can suppress another's. If it throws
   * or returns something else, the delivery is `misconfigured`.
   */
  namespace?: string | ((request: Request) => string) | undefined
  /** What an event is deduplicated by. Default: the order's id for `order.created`, else a digest of the event. */
  key?: KeyFunction<Request> | undefined
  /** How far the signature's timestamp may be from now, in seconds, in both directions. Default 300; above 0. */
  toleranceSeconds?: number | undefined
  /** The latest time of the answer, in seconds from the request's entry, whatever is still running. Default 10. */
  timeoutSeconds?: number | undefined
  /** When a handler that has not settled is given up, in seconds. Default 300. */
  maxRunSeconds?: number | undefined
  /** How long a crashed process blocks an event, in seconds; renewed every third of it while the handler runs. Default 60; at least 0.1. */
  leaseSeconds?: number | undefined
  /** How long a completion is remembered, in seconds. Default 604,800 (7 days); at least 262,800 (73 h) and at least the tolerance. */
  retentionSeconds?: number | undefined
  /** The largest body that is read, in bytes. Default 1,048,576. */
  maxBodyBytes?: number | undefined
  /**
   * What to do if the store cannot be reached: `reject` answers 503; `process` runs without protection, and is refused with an
   * inbox. A store that is full or misbehaves is reached: 503 either way. Default `reject`.
   */
  storeFailure?: 'reject' | 'process' | undefined
  /** How the service signs. The defaults are the field's. */
  signature?: SignatureOptions | undefined
  /** Gets exactly one record for each delivery, whatever its end. Not awaited; what it throws is swallowed. */
  onDelivery?: ((record: DeliveryRecord) => unknown) | undefined
  /**
   * Gets what went wrong, for your logs; it does not change the answer. Not awaited; what it throws is swallowed. Default: a
   * log on the framework's logger if it has one, else on `console.error`. That log has the stack and the causes of what your own code threw, and
   * of the package's errors the message alone; refusals of strangers are collapsed to a few a minute.
   */
  onError?: ((error: unknown, ctx: ErrorContext<Request>) => unknown) | undefined
  /**
   * Milliseconds since the epoch: every reading of the wall clock, and how long the default store remembers. Its leases,
   * and all deadlines, are monotonic. Default `Date.now`.
   */
  now?: (() => number) | undefined
}

/** What became of one delivery. */
export interface DeliveryRecord {
  /** How it ended: see Answers. */
  readonly outcome: OutcomeName
  /** The HTTP status of the answer. */
  readonly status: number
  /** Present with every outcome whose status is not 200. */
  readonly code?: OutcomeCode
  /** Present once the envelope was read. */
  readonly kind?: string
  /** Present once the event had a key. */
  readonly key?: string
  /** Present once the store had granted the run. */
  readonly attempt?: number
  /** How long before now the service signed, in seconds; present once the signature held. */
  readonly signatureAgeSeconds?: number
  /** From the request's entry to its answer, in milliseconds, monotonic. */
  readonly durationMs: number
  /** What was thrown, if anything was. */
  readonly error?: unknown
}

/** Where an error belongs. */
export interface ErrorContext<Request = unknown> {
  readonly request: Request
  /** Present once the envelope was read. */
  readonly kind?: string
  /** Present once the event had a key. */
  readonly key?: string
}
