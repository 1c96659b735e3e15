import { ConfigurationError } from '../errors.js'
import { checkSchemas } from '../event/payload.js'
import type { SchemaMap } from '../event/schema.js'
import type { Guard } from '../idempotency/guard.js'
import type { Inbox } from '../idempotency/inbox.js'
import { inboxGuard } from '../idempotency/inbox-guard.js'
import { leaseGuard } from '../idempotency/lease-guard.js'
import { defaultStore } from '../idempotency/memory/memory-store.js'
import type { IdempotencyStore } from '../idempotency/store.js'
import { ignoreRejection } from '../lib/call-safely.js'
import { checkedClock, systemClock } from '../lib/clock.js'
import { describeType, describeValue } from '../lib/describe-type.js'
import type { MaybePromise } from '../lib/maybe-promise.js'
import { checkOptionNames } from '../lib/option-names.js'
import { MAX_TIMER_SECONDS } from '../lib/timers.js'
import type { SecretKey } from '../signature/hmac.js'
import {
  checkTolerance,
  DEFAULT_TOLERANCE_SECONDS,
  RETRY_WINDOW_SECONDS,
  type SignatureScheme,
  signatureScheme,
} from '../signature/scheme.js'
import { secretSource } from '../signature/secrets.js'
import { type AnyHandler, handlerLookup } from './handlers.js'
import type { KeyFunction } from './key.js'
import type { DeliveryRecord, ErrorContext, WebhookOptions } from './options.js'

/** The options, checked and with their defaults. */
export interface Settings<Request> {
  readonly secretKeysFor: (request: Request) => MaybePromise<readonly SecretKey[]>
  readonly scheme: SignatureScheme
  readonly handlerFor: (kind: string) => AnyHandler<Request> | undefined
  readonly schemas: SchemaMap
  /** Guards each handler, with the leases of a store or the transactions of an inbox. */
  readonly guard: Guard
  /** @throws ConfigurationError when the user's function throws, or returns an invalid namespace */
  readonly namespaceFor: (request: Request) => string
  /** The namespace, if all requests share one: for the log. */
  readonly namespace: string | undefined
  readonly key: KeyFunction<Request> | undefined
  readonly toleranceSeconds: number
  readonly timeoutMs: number
  readonly maxRunMs: number
  readonly maxBodyBytes: number
  readonly onDelivery: ((record: DeliveryRecord) => unknown) | undefined
  readonly onError: ((error: unknown, ctx: ErrorContext<Request>) => unknown) | undefined
  readonly now: () => number
}

/** The time of all retries, and an hour for clocks and backlogs: an event forgotten sooner can run twice. */
const MIN_RETENTION_SECONDS = RETRY_WINDOW_SECONDS + 3600
/** A hundred years: anything longer is a wrong unit, and some backends overflow. */
const MAX_RETENTION_SECONDS = 100 * 365 * 24 * 3600
const DEFAULT_RETENTION_SECONDS = 7 * 24 * 3600
/** A shorter lease expires between two turns of a busy event loop, and the event runs twice. */
const MIN_LEASE_SECONDS = 0.1

const OPTION_NAMES: readonly (keyof WebhookOptions)[] = [
  'secret',
  'on',
  'onUnhandled',
  'schemas',
  'store',
  'inbox',
  'namespace',
  'key',
  'toleranceSeconds',
  'timeoutSeconds',
  'maxRunSeconds',
  'leaseSeconds',
  'retentionSeconds',
  'maxBodyBytes',
  'storeFailure',
  'signature',
  'onDelivery',
  'onError',
  'now',
]

/**
 * Checks the options and fills in the defaults. Nothing random, timed or asynchronous happens here: some runtimes refuse it outside a
 * request.
 *
 * @throws TypeError that names the option and the fix
 */
export function resolveSettings<Request, Tx, Schemas extends SchemaMap>(
  given: WebhookOptions<Request, Tx, Schemas>,
): Settings<Request> {
  const options = checkOptionNames(given, OPTION_NAMES)
  const schemas: SchemaMap = options.schemas ?? {}
  checkSchemas(schemas)
  const toleranceSeconds = checkTolerance(options.toleranceSeconds ?? DEFAULT_TOLERANCE_SECONDS)
  const timeoutSeconds = seconds('timeoutSeconds', options.timeoutSeconds ?? 10)
  const maxRunSeconds = seconds('maxRunSeconds', options.maxRunSeconds ?? 300)
  const leaseSeconds = seconds('leaseSeconds', options.leaseSeconds ?? 60, MIN_LEASE_SECONDS)
  const maxRunMs = maxRunSeconds * 1000
  const retainMs =
    retentionSeconds(options.retentionSeconds, toleranceSeconds, leaseSeconds, maxRunSeconds) * 1000
  const now = checkedClock(options.now, systemClock)

  return {
    secretKeysFor: secretSource(options.secret),
    scheme: signatureScheme(options.signature),
    handlerFor: handlerLookup<Request>(
      options.on,
      options.onUnhandled as AnyHandler<Request> | undefined,
      schemas,
    ),
    schemas,
    namespaceFor: namespaceSource<Request>(options),
    namespace: typeof options.namespace === 'string' ? options.namespace : undefined,
    guard: guardOf(options, now, { leaseMs: leaseSeconds * 1000, retainMs, maxRunMs }),
    key: optionalFunction('key', options.key),
    toleranceSeconds,
    timeoutMs: timeoutSeconds * 1000,
    maxRunMs,
    maxBodyBytes: positiveInteger('maxBodyBytes', options.maxBodyBytes ?? 1024 * 1024),
    onDelivery: optionalFunction('onDelivery', options.onDelivery),
    onError: optionalFunction('onError', options.onError),
    now,
  }
}

/** `'default'` is enough for the one endpoint of an unshared store; a store passed as an option may be shared. */
function namespaceSource<Request>({ namespace, store, inbox }: Kept<Request>): (request: Request) => string {
  if (namespace === undefined) {
    if (store === undefined && inbox === undefined) return () => 'default'
    throw new TypeError(
      "namespace is required with store and inbox: name this endpoint, such as namespace: 'orders', so that two endpoints on one database do not suppress each other's events.",
    )
  }
  if (typeof namespace === 'function') return (request) => namespaceBy(namespace, request)
  if (!isNamespace(namespace)) {
    throw new TypeError(`namespace must be ${NAMESPACE_RULE}, or a function of the request that returns it.`)
  }
  return () => namespace
}

function namespaceBy<Request>(namespaceFunction: (request: Request) => unknown, request: Request): string {
  let namespace: unknown
  try {
    namespace = namespaceFunction(request)
  } catch (cause) {
    throw new ConfigurationError(
      `Your namespace function threw: it must return the namespace of the request's endpoint, ${NAMESPACE_RULE}.`,
      { cause },
    )
  }
  if (isNamespace(namespace)) return namespace
  ignoreRejection(namespace)
  throw new ConfigurationError(
    `Your namespace function returned ${namespace === '' ? 'an empty string' : describeType(namespace)} for this request: it must return ${NAMESPACE_RULE}.`,
  )
}

const NAMESPACE_RULE = '1 to 64 characters of A-Z a-z 0-9 . _ -'

function isNamespace(value: unknown): value is string {
  return typeof value === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(value)
}

/** The options of the store and the inbox. */
interface Kept<Request> {
  readonly store?: IdempotencyStore | undefined
  readonly inbox?: object | undefined
  readonly namespace?: string | ((request: Request) => string) | undefined
}

function guardOf(
  options: Kept<never> & Pick<WebhookOptions, 'now' | 'storeFailure'>,
  now: () => number,
  { leaseMs, retainMs, maxRunMs }: { leaseMs: number; retainMs: number; maxRunMs: number },
): Guard {
  const storeFailure = checkedStoreFailure(options.storeFailure ?? 'reject', options.inbox)
  const store = storeOf(options, options.now === undefined ? undefined : now)
  const inbox = inboxOf(options)
  return inbox === undefined
    ? leaseGuard(store, { leaseMs, retainMs, storeFailure })
    : inboxGuard(inbox, { retainMs, maxRunMs })
}

let warnedOfMemory = false

function storeOf({ store, inbox }: Kept<never>, now: (() => number) | undefined): IdempotencyStore {
  if (store === undefined) {
    if (inbox === undefined && isProduction() && !warnedOfMemory) {
      warnedOfMemory = true
      console.warn(
        'tix-webhooks: no store is given, so handled events are remembered only in the memory of this process, until it restarts. Pass a store or an inbox, and a namespace; store: memoryStore() if that is intended.',
      )
    }
    return defaultStore(now)
  }
  for (const method of ['claim', 'renew', 'complete', 'release'] as const) {
    if (typeof store?.[method] !== 'function') {
      throw new TypeError(
        `store must be an IdempotencyStore: its ${method} is not a function. A client such as ioredis or pg is not a store by itself.`,
      )
    }
  }
  return store
}

function inboxOf({ store, inbox }: Kept<never>): Inbox<unknown> | undefined {
  if (inbox === undefined) return undefined
  const { once, addListener } = (inbox ?? {}) as Readonly<Record<string, unknown>>
  // A pool may be an event emitter, which has its own `once`.
  if (typeof once !== 'function' || addListener !== undefined) {
    throw new TypeError('inbox must be an Inbox, such as postgresInbox(pool), not a pool or a database.')
  }
  if (store !== undefined) {
    throw new TypeError(
      'Pass a store or an inbox, not both: an inbox keeps its own record of what was handled, in the transaction of the handler.',
    )
  }
  return inbox as Inbox<unknown>
}

function isProduction(): boolean {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } }
  return process?.env?.NODE_ENV === 'production'
}

/** @param bounds the durations that a record must outlive: a delivery within the tolerance, a lease, a run */
function retentionSeconds(value = DEFAULT_RETENTION_SECONDS, ...bounds: number[]): number {
  const floor = Math.max(MIN_RETENTION_SECONDS, ...bounds)
  if (typeof value !== 'number' || !(value >= floor) || value > MAX_RETENTION_SECONDS) {
    throw new TypeError(
      `retentionSeconds must be a number of at least ${floor} and at most ${MAX_RETENTION_SECONDS}, not ${describeValue(value)}: the sender retries for 72 h, and a record must outlive toleranceSeconds, leaseSeconds and maxRunSeconds.`,
    )
  }
  return value
}

function checkedStoreFailure(value: unknown, inbox: object | undefined): 'reject' | 'process' {
  if (value === 'process' && inbox !== undefined) {
    throw new TypeError(
      "storeFailure: 'process' cannot be used with an inbox: while its database is down there is no transaction for the handler to run in.",
    )
  }
  if (value === 'reject' || value === 'process') return value
  throw new TypeError(
    "storeFailure must be 'reject' (503 while the store is down) or 'process' (run without protection).",
  )
}

function seconds(option: string, value: number, least?: number): number {
  const isEnough = least === undefined ? value > 0 : value >= least
  if (typeof value !== 'number' || !isEnough || value > MAX_TIMER_SECONDS) {
    const floor = least === undefined ? 'above 0' : `that is at least ${least}`
    throw new TypeError(
      `${option} must be a number of seconds ${floor} and at most ${MAX_TIMER_SECONDS}, not ${describeValue(value)}.`,
    )
  }
  return value
}

function positiveInteger(option: string, value: number): number {
  if (!Number.isSafeInteger(value) || value < 1) {
    throw new TypeError(`${option} must be a whole number of at least 1, not ${describeValue(value)}.`)
  }
  return value
}

function optionalFunction<F>(option: string, value: F): F {
  if (value !== undefined && typeof value !== 'function') {
    throw new TypeError(`${option} must be a function, not ${describeType(value)}.`)
  }
  return value
}
