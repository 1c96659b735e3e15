import { checkedClock } from './clock.js'
import { MAX_TIMER_SECONDS } from './deadline.js'
import { describeType, describeValue } from './describe-type.js'
import { ConfigurationError } from './errors.js'
import type { AnyEvent } from './events.js'
import { type Handler, handlerLookup } from './handlers.js'
import type { SecretKey } from './hmac.js'
import type { KeyFunction } from './key.js'
import { memoryStore } from './memory-store.js'
import { checkOptionNames } from './option-names.js'
import type { DeliveryRecord, ErrorContext, WebhookOptions } from './options.js'
import { checkSchemas } from './payload.js'
import type { SchemaMap } from './schema.js'
import { type Secrets, secretKeys } from './secrets.js'
import {
  checkTolerance,
  DEFAULT_TOLERANCE_SECONDS,
  type SignatureScheme,
  signatureScheme,
} from './signature-scheme.js'
import type { IdempotencyStore } from './store.js'

/** The options, checked and complete. */
export interface Settings<Request> {
  readonly secretKeysFor: (request: Request) => Promise<readonly SecretKey[]>
  readonly scheme: SignatureScheme
  readonly handlerFor: (kind: string) => Handler<AnyEvent, Request> | undefined
  readonly schemas: SchemaMap
  readonly store: IdempotencyStore
  readonly namespace: string
  readonly key: KeyFunction<Request> | undefined
  readonly toleranceSeconds: number
  readonly timeoutMs: number
  readonly maxRunMs: number
  readonly leaseMs: number
  readonly retainMs: number
  readonly maxBodyBytes: number
  readonly storeFailure: 'reject' | 'process'
  readonly onDelivery: ((record: DeliveryRecord) => unknown) | undefined
  readonly onError: ((error: unknown, ctx: ErrorContext<Request>) => unknown) | undefined
  readonly now: () => number
}

/** 72 hours of retries (spec section 8) and an hour for clocks and backlogs: what is forgotten sooner can run twice. */
const MIN_RETENTION_SECONDS = 73 * 3600
const DEFAULT_RETENTION_SECONDS = 7 * 24 * 3600

const OPTION_NAMES: readonly (keyof WebhookOptions)[] = [
  'secret',
  'on',
  'onUnhandled',
  'schemas',
  'store',
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
 * Checks the options and fills in the defaults. Nothing random, timed or asynchronous happens here: some runtimes refuse
 * it outside of a request.
 *
 * @throws TypeError that names the option and the fix
 */
export function resolveSettings<Request, Schemas extends SchemaMap>(
  options: WebhookOptions<Request, Schemas>,
): Settings<Request> {
  checkOptionNames(options, OPTION_NAMES)
  const schemas: SchemaMap = options.schemas ?? {}
  checkSchemas(schemas)
  const toleranceSeconds = checkTolerance(options.toleranceSeconds ?? DEFAULT_TOLERANCE_SECONDS)
  const timeoutSeconds = seconds('timeoutSeconds', options.timeoutSeconds ?? 10)
  const maxRunSeconds = seconds('maxRunSeconds', options.maxRunSeconds ?? 300)
  const leaseSeconds = seconds('leaseSeconds', options.leaseSeconds ?? 60)
  const now = checkedClock(options.now, Date.now)

  return {
    secretKeysFor: secretSource(options.secret),
    scheme: signatureScheme(options.signature),
    handlerFor: handlerLookup<Request>(
      options.on,
      options.onUnhandled as Handler<AnyEvent, Request> | undefined,
      schemas,
    ),
    schemas,
    namespace: namespaceOf(options),
    store: storeOf(options.store, options.now === undefined ? undefined : now),
    key: optionalFunction('key', options.key),
    toleranceSeconds,
    timeoutMs: timeoutSeconds * 1000,
    maxRunMs: maxRunSeconds * 1000,
    leaseMs: leaseSeconds * 1000,
    retainMs:
      retentionSeconds(options.retentionSeconds, toleranceSeconds, leaseSeconds, maxRunSeconds) * 1000,
    maxBodyBytes: positiveInteger('maxBodyBytes', options.maxBodyBytes ?? 1024 * 1024),
    storeFailure: storeFailure(options.storeFailure ?? 'reject'),
    onDelivery: optionalFunction('onDelivery', options.onDelivery),
    onError: optionalFunction('onError', options.onError),
    now,
  }
}

/** Secrets that are given are checked at once; those of a function at each delivery, by the same rules. */
function secretSource<Request>(
  secret: Secrets | ((request: Request) => Secrets | Promise<Secrets>),
): Settings<Request>['secretKeysFor'] {
  if (typeof secret !== 'function') {
    const keys = secretKeys(secret, 'secret')
    return async () => keys
  }
  return async (request) => {
    let secrets: Secrets
    try {
      secrets = await secret(request)
    } catch (cause) {
      throw new ConfigurationError(
        'Your secret function threw: it must return the signing secret of the endpoint.',
        { cause },
      )
    }
    if (secrets === undefined || secrets === null) {
      throw new ConfigurationError(
        `Your secret function returned ${secrets} for this request: it must return the signing secret of the endpoint.`,
      )
    }
    try {
      return secretKeys(secrets, 'what your secret function returned')
    } catch (error) {
      throw new ConfigurationError((error as TypeError).message)
    }
  }
}

/** `'default'` can stand for the one endpoint of a store that nobody shares; a store that is handed in may be shared. */
function namespaceOf({ namespace, store }: Pick<WebhookOptions, 'namespace' | 'store'>): string {
  if (namespace === undefined) {
    if (store === undefined) return 'default'
    throw new TypeError(
      "namespace is required with store: name this endpoint, such as namespace: 'orders', so that two endpoints on one store do not suppress each other's events.",
    )
  }
  if (typeof namespace !== 'string' || !/^[A-Za-z0-9._-]{1,64}$/.test(namespace)) {
    throw new TypeError('namespace must be 1 to 64 characters of A-Z a-z 0-9 . _ -')
  }
  return namespace
}

let warnedOfMemory = false

function storeOf(store: IdempotencyStore | undefined, now: (() => number) | undefined): IdempotencyStore {
  if (store === undefined) {
    if (isProduction() && !warnedOfMemory) {
      warnedOfMemory = true
      console.warn(
        'tix-webhooks: no store is given, so handled events are remembered only in the memory of this process, until it restarts. Pass a store and a namespace; store: memoryStore() says that this is meant.',
      )
    }
    return memoryStore(now === undefined ? {} : { now })
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

function isProduction(): boolean {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } }
  return process?.env?.NODE_ENV === 'production'
}

/** @param bounds what a record must outlive: a delivery within the tolerance, a lease, a run */
function retentionSeconds(value = DEFAULT_RETENTION_SECONDS, ...bounds: number[]): number {
  const floor = Math.max(MIN_RETENTION_SECONDS, ...bounds)
  if (!Number.isFinite(value) || value < floor) {
    throw new TypeError(
      `retentionSeconds must be a finite number of at least ${floor}, not ${describeValue(value)}: the sender retries for 72 h, and a record must outlive toleranceSeconds, leaseSeconds and maxRunSeconds.`,
    )
  }
  return value
}

function storeFailure(value: unknown): 'reject' | 'process' {
  if (value === 'reject' || value === 'process') return value
  throw new TypeError(
    "storeFailure must be 'reject' (503 while the store is down) or 'process' (run without protection).",
  )
}

function seconds(option: string, value: number): number {
  if (typeof value !== 'number' || !(value > 0) || value > MAX_TIMER_SECONDS) {
    throw new TypeError(
      `${option} must be a number of seconds above 0 and at most ${MAX_TIMER_SECONDS}, not ${describeValue(value)}.`,
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
