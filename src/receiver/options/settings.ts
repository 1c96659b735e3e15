import {
  DEFAULT_LEASE_SECONDS,
  DEFAULT_MAX_RUN_SECONDS,
  DEFAULT_TIMEOUT_SECONDS,
  DEFAULT_TOLERANCE_SECONDS,
  MIN_LEASE_SECONDS,
} from '../../durations.js'
import type { AnyEvent } from '../../event/events.js'
import { type AnyHandler, handlerLookup } from '../../event/handlers.js'
import type { KeyFunction } from '../../event/key.js'
import { checkSchemas } from '../../event/payload.js'
import type { SchemaMap } from '../../event/schema.js'
import type { Guard } from '../../ledger/guard.js'
import { checkTimerSeconds, checkWholeNumber } from '../../lib/check-number.js'
import { describeType } from '../../lib/describe-type.js'
import { checkOptionNames } from '../../lib/option-names.js'
import type { MaybePromise } from '../../lib/promises.js'
import { checkedClock, systemClock } from '../../lib/time/clock.js'
import type { RunSlots } from '../../operation/run-slots.js'
import { type Account, type Signer, signerSource } from '../../signature/account.js'
import { checkTolerance, type SignatureScheme, signatureScheme } from '../../signature/scheme.js'
import type { FailureTerms } from '../failure/delivery-failure.js'
import type { HandledBefore } from '../handled-before.js'
import { slotsOf } from './concurrency.js'
import { type Deduplication, deduplicationOf, factoriesOf, namespaceOf } from './deduplication.js'
import { failureTermsOf } from './failures.js'
import type { WebhookOptions } from './options.js'
import { retentionOf } from './retention.js'

/** The options, checked and with their defaults. */
export interface Settings<Request> {
  /** Whose signature a request must have. Sets the id of the account in the state of the delivery. */
  readonly signerFor: (request: Request, state: { account: string | undefined }) => MaybePromise<Signer>
  readonly scheme: SignatureScheme
  readonly handlerFor: (kind: string) => AnyHandler<Request> | undefined
  readonly schemas: SchemaMap
  /** Guards each handler, with the leases of a store or the transactions of an inbox. */
  readonly guard: Guard<Request>
  /** Of the runs at the same time; `undefined` if there is no limit. */
  readonly slots: RunSlots | undefined
  readonly namespace: string
  /** Undefined if no failures are kept. */
  readonly failureTerms: FailureTerms | undefined
  /** The store or the inbox for a request, which the user's function may make. */
  readonly backendFor: Deduplication<Request>['backendFor']
  /** The options that are functions of the request, in the order in which they are called. */
  readonly needRequest: readonly string[]
  readonly key: KeyFunction<Request> | undefined
  readonly handledBefore: HandledBefore<AnyEvent, Request> | undefined
  readonly toleranceSeconds: number
  readonly timeoutMs: number
  readonly maxRunMs: number
  readonly maxBodyBytes: number
  readonly onDelivery: WebhookOptions<Request>['onDelivery']
  readonly onError: WebhookOptions<Request>['onError']
  readonly now: () => number
}

const OPTION_NAMES: readonly (keyof WebhookOptions)[] = [
  'secret',
  'account',
  'on',
  'onUnhandled',
  'schemas',
  'store',
  'inbox',
  'namespace',
  'key',
  'handledBefore',
  'toleranceSeconds',
  'timeoutSeconds',
  'maxRunSeconds',
  'leaseSeconds',
  'retentionSeconds',
  'maxBodyBytes',
  'concurrency',
  'keep',
  'parkAfter',
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
export function resolveSettings<Request, Tx, Schemas extends SchemaMap, Found extends Account | undefined>(
  given: WebhookOptions<Request, Tx, Schemas, Found>,
): Settings<Request> {
  const options = checkOptionNames(given, OPTION_NAMES)
  const schemas: SchemaMap = options.schemas ?? {}
  checkSchemas(schemas)
  const toleranceSeconds = checkTolerance(options.toleranceSeconds ?? DEFAULT_TOLERANCE_SECONDS)
  const seconds = (
    name: 'timeoutSeconds' | 'maxRunSeconds' | 'leaseSeconds',
    byDefault: number,
    least?: number,
  ): number => checkTimerSeconds(name, options[name] ?? byDefault, least)
  const timeoutSeconds = seconds('timeoutSeconds', DEFAULT_TIMEOUT_SECONDS)
  const maxRunSeconds = seconds('maxRunSeconds', DEFAULT_MAX_RUN_SECONDS)
  const leaseSeconds = seconds('leaseSeconds', DEFAULT_LEASE_SECONDS, MIN_LEASE_SECONDS)
  const maxRunMs = maxRunSeconds * 1000
  const now = checkedClock(options.now, systemClock)
  const namespace = namespaceOf(options)
  const { guard, backend, backendFor } = deduplicationOf<Request>(options, now, {
    leaseMs: leaseSeconds * 1000,
    maxRunMs,
    retainMs: retentionOf(options.retentionSeconds, toleranceSeconds, leaseSeconds, maxRunSeconds),
  })

  return {
    signerFor: signerSource<Request>(options),
    scheme: signatureScheme(options.signature),
    handlerFor: handlerLookup<Request>(
      options.on,
      options.onUnhandled as AnyHandler<Request> | undefined,
      schemas,
    ),
    schemas,
    namespace,
    failureTerms: failureTermsOf(options, backend, namespace),
    backendFor,
    needRequest: [...(options.account === undefined ? [] : ['account']), ...factoriesOf(options)],
    guard,
    slots: slotsOf(options),
    key: optionalFunction('key', options.key as KeyFunction<Request> | undefined),
    handledBefore: optionalFunction(
      'handledBefore',
      options.handledBefore as HandledBefore<AnyEvent, Request> | undefined,
    ),
    toleranceSeconds,
    timeoutMs: timeoutSeconds * 1000,
    maxRunMs,
    maxBodyBytes: checkWholeNumber('maxBodyBytes', options.maxBodyBytes ?? 1024 * 1024),
    onDelivery: optionalFunction('onDelivery', options.onDelivery),
    onError: optionalFunction('onError', options.onError),
    now,
  }
}

function optionalFunction<F>(option: string, value: F): F {
  if (value !== undefined && typeof value !== 'function') {
    throw new TypeError(`${option} must be a function, not ${describeType(value)}.`)
  }
  return value
}
