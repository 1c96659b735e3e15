import { MAX_RETRY_AFTER_SECONDS } from './durations.js'
import { describeType, describeValue } from './lib/describe-type.js'
import { readProperty } from './lib/errors/read-error.js'

/** Brands errors, so that the ESM and CJS copies of this package recognize each other's. */
const BRAND = Symbol.for('tix-webhooks.error')

/**
 * Base class of all errors of this package; misuse by the programmer is a `TypeError` instead. Match on `code`, which is stable. `message`
 * says what to do, and `cause` is the original error.
 *
 * @example
 * ```ts
 * try {
 *   await verifyWebhook(rawBody, header, { secret })
 * } catch (error) {
 *   if (error instanceof WebhookError) console.error(error.code, error.message)
 * }
 * ```
 */
export class WebhookError<Code extends string = string> extends Error {
  readonly code: Code

  constructor(code: Code, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** Whether `value` is an error of this package, made by either its ESM or its CJS copy. */
export function isWebhookError(value: unknown): value is WebhookError {
  return readProperty(value, BRAND) === true
}

/** The code of an error of this package; `undefined` for anything else, or if it cannot be read. */
export function codeOf(error: unknown): string | undefined {
  const code = isWebhookError(error) ? readProperty(error, 'code') : undefined
  return typeof code === 'string' ? code : undefined
}

export type VerificationCode =
  | 'header_missing'
  | 'header_malformed'
  | 'signature_mismatch'
  | 'account_unknown'
  | 'timestamp_too_old'
  | 'timestamp_in_future'

/**
 * The delivery is not proven to be a fresh one from the service: header, signature or timestamp, or an unknown account. It has no stack:
 * anybody can cause one, at any rate, and a stack costs more than the HMAC and says nothing about the delivery.
 */
export class WebhookVerificationError extends WebhookError<VerificationCode> {
  constructor(code: VerificationCode, message: string, options?: ErrorOptions) {
    const { stackTraceLimit } = Error
    // `Reflect.set` does not throw if `Error` is frozen.
    Reflect.set(Error, 'stackTraceLimit', 0)
    try {
      super(code, message, options)
    } finally {
      Reflect.set(Error, 'stackTraceLimit', stackTraceLimit)
    }
  }
}

/** One problem in a payload. `path` starts at the envelope: `['data', 'order', 'total_cents']`. */
export interface PayloadIssue {
  readonly path: readonly PropertyKey[]
  readonly message: string
}

export type PayloadCode = 'not_json' | 'not_an_envelope' | 'data_mismatch'

/**
 * The payload is authentic but invalid: not JSON, not an envelope, or data that does not match its kind. `message` names the paths and
 * never quotes the payload; `issues` has the schema's own messages, which may quote it.
 */
export class PayloadError extends WebhookError<PayloadCode> {
  readonly issues: readonly PayloadIssue[]

  constructor(
    code: PayloadCode,
    message: string,
    options?: ErrorOptions & { issues?: readonly PayloadIssue[] },
  ) {
    super(code, message, options)
    this.issues = options?.issues ?? []
  }
}

export type BodyCode = 'too_large' | 'body_incomplete'

/** The body did not arrive complete, or is larger than `maxBodyBytes`. */
export class BodyError extends WebhookError<BodyCode> {}

/** The receiver cannot judge the delivery because it is set up wrongly; the message says what to change. */
export class ConfigurationError extends WebhookError<'misconfigured'> {
  constructor(message: string, options?: ErrorOptions) {
    super('misconfigured', message, options)
  }
}

export type StoreCode =
  | 'store_unavailable'
  | 'store_misbehaved'
  | 'store_full'
  | 'rolled_back'
  | 'lease_lost'
  | 'not_recorded'
  | 'not_released'
  | 'not_kept'

/** The idempotency store is down, slow, full, or no longer holds our lease. */
export class StoreError extends WebhookError<StoreCode> {}

export type UnavailableCode =
  | 'secret_unavailable'
  | 'account_unavailable'
  | 'store_unavailable'
  | 'handled_before_unavailable'

/**
 * A function of yours that the delivery needs threw, rejected or took too long: `secret`, `account`, `store`, `inbox` or `handledBefore`.
 * `cause` is its own error.
 */
export class UnavailableError extends WebhookError<UnavailableCode> {}

export type RunCode = 'handler_failed' | 'timed_out' | 'given_up'

/** A handler threw a value that is not an Error, or took too long. A handler's own errors are passed on unchanged. */
export class RunError extends WebhookError<RunCode> {}

/** Every error that ends a delivery or is reported alongside one: an exhaustive `switch (error.code)` narrows it. */
export type AnyWebhookError =
  | WebhookVerificationError
  | PayloadError
  | BodyError
  | ConfigurationError
  | UnavailableError
  | StoreError
  | RunError

/**
 * Throw it from a handler if the work cannot be done yet: the sender gets 503 with `Retry-After`, and the event is released so that the
 * next delivery runs.
 *
 * @param options.afterSeconds whole seconds, 1 to 86,400
 * @param options.reason for your logs; never sent
 * @throws TypeError when `afterSeconds` is not a whole number from 1 to 86,400
 * @example
 * ```ts
 * if (busy) throw new RetryLater({ afterSeconds: 60, reason: 'the ledger is closed for the night' })
 * ```
 */
export class RetryLater extends WebhookError<'retry_later'> {
  readonly afterSeconds: number

  constructor(options: { afterSeconds: number; reason?: string }) {
    const { afterSeconds, reason } = (options ?? {}) as typeof options
    if (!Number.isInteger(afterSeconds) || afterSeconds < 1 || afterSeconds > MAX_RETRY_AFTER_SECONDS) {
      throw new TypeError(
        `RetryLater: afterSeconds must be a whole number of seconds from 1 to ${MAX_RETRY_AFTER_SECONDS}, as in new RetryLater({ afterSeconds: 60 }), not ${describeValue(afterSeconds)}; round what you computed.`,
      )
    }
    super('retry_later', reason ?? `Retry in ${afterSeconds} s.`)
    this.afterSeconds = afterSeconds
  }
}

/**
 * Throw it from a handler if the event must never be handled: the sender gets 200, and the event is recorded as completed.
 *
 * @param reason for your logs; never sent
 * @throws TypeError when `reason` is not a string
 * @example
 * ```ts
 * if (event.data.order.total_cents === 0) throw new Discard('free tickets are not booked')
 * ```
 */
export class Discard extends WebhookError<'discarded'> {
  constructor(reason = 'The handler discarded the event.') {
    if (typeof reason !== 'string') {
      throw new TypeError(
        `Discard: reason must be a text, as in new Discard('free tickets are not booked'), not ${describeType(reason)}.`,
      )
    }
    super('discarded', reason)
  }
}

/**
 * Whether a handler asked to discard its event, by a `Discard` of this or another copy of the package. For inboxes: roll back the
 * handler's writes and commit only the record.
 *
 * @example
 * ```ts
 * import { isDiscard, type OnceResult } from 'tix-webhooks'
 *
 * async function transact(work: () => Promise<void>): Promise<OnceResult> {
 *   try {
 *     await work()
 *     return { status: 'handled' }
 *   } catch (error) {
 *     if (isDiscard(error)) return { status: 'discarded' }
 *     throw error
 *   }
 * }
 * ```
 */
export function isDiscard(thrown: unknown): thrown is Discard {
  return codeOf(thrown) === 'discarded'
}

// By hand, because bundlers rename classes; on the prototypes, so that it is not printed as a field.
for (const [name, { prototype }] of Object.entries({
  WebhookError,
  WebhookVerificationError,
  PayloadError,
  BodyError,
  ConfigurationError,
  StoreError,
  UnavailableError,
  RunError,
  RetryLater,
  Discard,
})) {
  Object.defineProperty(prototype, 'name', { value: name, configurable: true, writable: true })
}
Object.defineProperty(WebhookError.prototype, BRAND, { value: true })
