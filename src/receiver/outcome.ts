import {
  MAX_IN_FLIGHT_SECONDS,
  MAX_RETRY_AFTER_SECONDS,
  MAX_SPREAD_SECONDS,
  RETRY_SECONDS,
} from '../durations.js'
import {
  type BodyCode,
  codeOf,
  type PayloadCode,
  type RetryLater,
  type StoreCode,
  type UnavailableCode,
  type VerificationCode,
} from '../errors.js'
import type { Denial } from '../ledger/guard.js'
import { describeType } from '../lib/describe-type.js'
import { ignoreRejection } from '../lib/promises.js'
import { explainThrown } from './handler-result.js'

/** The ways a delivery can end. */
export type OutcomeName =
  | 'handled'
  | 'duplicate'
  | 'unhandled'
  | 'discarded'
  | 'malformed'
  | 'incomplete'
  | 'unauthenticated'
  | 'method_not_allowed'
  | 'too_large'
  | 'failed'
  | 'unprocessable'
  | 'misconfigured'
  | 'parked'
  | 'in_flight'
  | 'timed_out'
  | 'retry_later'
  | 'unavailable'
  | 'overloaded'

/** The reason for an outcome: stable, one level finer than the outcome. */
export type OutcomeCode =
  | VerificationCode
  | PayloadCode
  | BodyCode
  | UnavailableCode
  | Exclude<StoreCode, 'lease_lost' | 'not_recorded' | 'not_released' | 'not_kept'>
  | 'method_not_allowed'
  | 'handler_failed'
  | 'misconfigured'
  | 'in_flight'
  | 'timed_out'
  | 'given_up'
  | 'retry_later'
  | 'draining'
  | 'too_many_runs'

/** The end of one delivery. `answerTo` makes the HTTP answer from it. */
export interface Outcome {
  readonly outcome: OutcomeName
  /** Absent if the status is 200. */
  readonly code?: OutcomeCode
  /** When the sender should retry, if known. */
  readonly retryAfterSeconds?: number
  /** The error that was thrown. For your logs: it is never part of the answer. */
  readonly error?: unknown
}

/** The request's part in an answer. */
export interface AnswerOptions {
  /**
   * The major version of the request's HTTP, as Node's `request.httpVersionMajor`: from 2 on, the protocol forbids the header `connection`,
   * and the answer is without it. Default 1.
   */
  httpVersionMajor?: number | undefined
}

/** An HTTP answer, for any framework to send. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * The one place for statuses. The rule: 2xx is done, do not send again; 4xx means not proven to be a fresh delivery from the
 * service; 5xx means retry. A delivery that passed signature and timestamp never gets a 4xx, because some senders give up there; and nothing gets a
 * 404, 409, 410 or 3xx.
 */
const STATUS: Readonly<Record<OutcomeName, number>> = {
  handled: 200,
  duplicate: 200,
  unhandled: 200,
  discarded: 200,
  malformed: 400,
  incomplete: 400,
  unauthenticated: 401,
  method_not_allowed: 405,
  too_large: 413,
  failed: 500,
  unprocessable: 500,
  misconfigured: 500,
  parked: 200,
  in_flight: 503,
  timed_out: 503,
  retry_later: 503,
  unavailable: 503,
  overloaded: 503,
}

/** The one place that maps the code of an error to the outcome of its delivery. */
const OUTCOME_OF_CODE: ReadonlyMap<string, OutcomeName> = new Map<OutcomeCode, OutcomeName>([
  ['header_missing', 'malformed'],
  ['header_malformed', 'malformed'],
  ['body_incomplete', 'incomplete'],
  ['too_large', 'too_large'],
  ['signature_mismatch', 'unauthenticated'],
  ['account_unknown', 'unauthenticated'],
  ['timestamp_too_old', 'unauthenticated'],
  ['timestamp_in_future', 'unauthenticated'],
  ['not_json', 'unprocessable'],
  ['not_an_envelope', 'unprocessable'],
  ['data_mismatch', 'unprocessable'],
  ['misconfigured', 'misconfigured'],
  ['secret_unavailable', 'unavailable'],
  ['account_unavailable', 'unavailable'],
  ['handled_before_unavailable', 'unavailable'],
  ['store_unavailable', 'unavailable'],
  ['store_full', 'unavailable'],
  ['store_misbehaved', 'unavailable'],
  ['rolled_back', 'unavailable'],
  ['timed_out', 'timed_out'],
  ['given_up', 'timed_out'],
])

export const HANDLED: Outcome = { outcome: 'handled' }
export const DUPLICATE: Outcome = { outcome: 'duplicate' }
export const UNHANDLED: Outcome = { outcome: 'unhandled' }
export const METHOD_NOT_ALLOWED: Outcome = { outcome: 'method_not_allowed', code: 'method_not_allowed' }

export function draining(): Outcome {
  return {
    outcome: 'unavailable',
    code: 'draining',
    retryAfterSeconds: spreadSeconds(),
  }
}

/** No error: the receiver does as it is configured. */
export function overloaded(): Outcome {
  return {
    outcome: 'overloaded',
    code: 'too_many_runs',
    retryAfterSeconds: spreadSeconds(),
  }
}

/** @param error that of the run that parked the event, if this is its delivery */
export function parked(error: unknown): Outcome {
  return error === undefined ? { outcome: 'parked' } : { outcome: 'parked', error }
}

/** Random, so that deliveries that were refused together are not retried together. */
function spreadSeconds(): number {
  return RETRY_SECONDS + Math.floor(Math.random() * (MAX_SPREAD_SECONDS - RETRY_SECONDS + 1))
}

/** The outcome if a guard has denied the run. If another delivery is being handled, the sender retries when its lease may be over. */
export function outcomeOfDenial(denial: Denial): Outcome {
  if (denial.status === 'duplicate') return DUPLICATE
  if (denial.status === 'parked') return parked(denial.error)
  const retryAfterSeconds = wholeSeconds(denial.retryAfterMs / 1000, MAX_IN_FLIGHT_SECONDS)
  return { outcome: 'in_flight', code: 'in_flight', retryAfterSeconds }
}

/** A valid `Retry-After`: a handler may have overwritten the seconds, and NaN is not a time. */
function wholeSeconds(seconds: unknown, max: number): number {
  if (typeof seconds !== 'number' || Number.isNaN(seconds)) return RETRY_SECONDS
  return Math.min(Math.max(Math.ceil(seconds), 1), max)
}

/** The outcome if a step before the handler throws. An error of any other class is a bug or a misconfiguration: 500. */
export function outcomeOfFault(error: unknown): Outcome {
  const known = codeOf(error) ?? ''
  const outcome = OUTCOME_OF_CODE.get(known) ?? 'misconfigured'
  const code = OUTCOME_OF_CODE.has(known) ? (known as OutcomeCode) : 'misconfigured'
  if (STATUS[outcome] !== 503) return { outcome, code, error }
  const retryAfterSeconds = outcome === 'unavailable' ? spreadSeconds() : RETRY_SECONDS
  return { outcome, code, retryAfterSeconds, error }
}

/** Whether it is a `RetryLater` or a `Discard`, of this or another copy of the package. */
export function isSignal(thrown: unknown): boolean {
  return ['retry_later', 'discarded'].includes(codeOf(thrown) ?? '')
}

/** The outcome if the handler throws: `RetryLater` and `Discard` are obeyed, anything else is a failure. */
export function outcomeOfThrown(thrown: unknown, kind: string): Outcome {
  try {
    const code = codeOf(thrown)
    if (code === 'discarded') return { outcome: 'discarded', error: thrown }
    if (code === 'retry_later') {
      const retryAfterSeconds = wholeSeconds((thrown as RetryLater).afterSeconds, MAX_RETRY_AFTER_SECONDS)
      return { outcome: 'retry_later', code: 'retry_later', retryAfterSeconds, error: thrown }
    }
  } catch {
    // Reading an error behind a proxy can throw: it is an ordinary failure then.
  }
  // `throw wrap(error)`, where wrap is asynchronous, throws a promise that nobody else awaits.
  ignoreRejection(thrown)
  return { outcome: 'failed', code: 'handler_failed', error: explainThrown(thrown, kind) }
}

/** Whether it ended with an error other than `RetryLater` or `Discard`. */
export function isFault({ outcome, error }: Outcome): boolean {
  return error !== undefined && outcome !== 'retry_later' && outcome !== 'discarded'
}

/** Whether it was refused with a 4xx: anyone can have sent it. */
export function isRefusal({ outcome, error }: Outcome): boolean {
  const status = STATUS[outcome]
  return error !== undefined && status >= 400 && status < 500
}

/**
 * The HTTP answer for an outcome: its body contains only the outcome's name.
 *
 * @throws TypeError when it is not an outcome, such as a promise of one
 * @example
 * ```ts
 * const { status, headers, body } = answerTo(await receiver.receive(delivery))
 * return new Response(body, { status, headers })
 * ```
 */
export function answerTo(ended: Outcome, { httpVersionMajor = 1 }: AnswerOptions = {}): Answer {
  const { outcome, code, retryAfterSeconds } = (ended ?? {}) as Outcome
  if (!Object.hasOwn(STATUS, outcome)) {
    throw new TypeError(
      `answerTo takes the outcome of a delivery, as in answerTo(await receiver.receive(delivery)), not ${describeType(ended)}.`,
    )
  }
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (retryAfterSeconds !== undefined) headers['retry-after'] = String(retryAfterSeconds)
  if (outcome === 'method_not_allowed') headers.allow = 'POST'
  // The rest of the body is not read, so the connection cannot be reused (RFC 9112, section 9.6); or the next delivery on it would come to
  // the same process, which is shutting down. HTTP/2 only resets the stream.
  const isLast = outcome === 'incomplete' || code === 'draining'
  if (isLast && httpVersionMajor < 2) headers.connection = 'close'
  // No name needs escaping.
  return { status: STATUS[outcome], headers, body: `{"outcome":"${outcome}"}` }
}

/** Whether the sender should deliver the event again. */
export function wantsRetry({ outcome }: Outcome): boolean {
  return STATUS[outcome] >= 500
}

/** The status alone, for logs. */
export function statusOf({ outcome }: Outcome): number {
  return STATUS[outcome]
}
