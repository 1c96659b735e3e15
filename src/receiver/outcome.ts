import {
  type BodyCode,
  codeOf,
  MAX_RETRY_AFTER_SECONDS,
  type PayloadCode,
  type RetryLater,
  RunError,
  type StoreCode,
  type VerificationCode,
} from '../errors.js'
import { type Denial, RETRY_MS } from '../idempotency/guard.js'

/** How a delivery can end. */
export type OutcomeName =
  | 'handled'
  | 'duplicate'
  | 'unhandled'
  | 'discarded'
  | 'malformed'
  | 'incomplete'
  | 'unauthenticated'
  | 'method-not-allowed'
  | 'too-large'
  | 'failed'
  | 'unprocessable'
  | 'misconfigured'
  | 'in-flight'
  | 'timed-out'
  | 'retry-later'
  | 'unavailable'

/** Why it ended so: stable, one level finer than the outcome. */
export type OutcomeCode =
  | VerificationCode
  | PayloadCode
  | BodyCode
  | Exclude<StoreCode, 'lease_lost' | 'not_recorded' | 'not_released'>
  | 'method_not_allowed'
  | 'handler_failed'
  | 'misconfigured'
  | 'in_flight'
  | 'timed_out'
  | 'given_up'
  | 'retry_later'
  | 'draining'

/** The end of one delivery. `answerTo` makes the HTTP answer of it. */
export interface Outcome {
  readonly outcome: OutcomeName
  /** Absent where the answer is 200. */
  readonly code?: OutcomeCode
  /** When the sender should come again, where we know. */
  readonly retryAfterSeconds?: number
  /** What was thrown. For your records: it has no place in the answer. */
  readonly error?: unknown
}

/** An HTTP answer, for any framework to send. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * The one place for statuses. The law: 2xx is done, do not send again; 4xx is not proven to be a fresh delivery of the
 * service's; 5xx is come again. What passed signature and timestamp never gets a 4xx, because some senders give up there;
 * and never a 404, 409, 410 or 3xx.
 */
const STATUS: Readonly<Record<OutcomeName, number>> = {
  handled: 200,
  duplicate: 200,
  unhandled: 200,
  discarded: 200,
  malformed: 400,
  incomplete: 400,
  unauthenticated: 401,
  'method-not-allowed': 405,
  'too-large': 413,
  failed: 500,
  unprocessable: 500,
  misconfigured: 500,
  'in-flight': 503,
  'timed-out': 503,
  'retry-later': 503,
  unavailable: 503,
}

/** The one place that says what an error means for the delivery, by its code. */
const OUTCOME_OF_CODE: ReadonlyMap<string, OutcomeName> = new Map<OutcomeCode, OutcomeName>([
  ['header_missing', 'malformed'],
  ['header_malformed', 'malformed'],
  ['body_incomplete', 'incomplete'],
  ['too_large', 'too-large'],
  ['signature_mismatch', 'unauthenticated'],
  ['timestamp_too_old', 'unauthenticated'],
  ['timestamp_in_future', 'unauthenticated'],
  ['not_json', 'unprocessable'],
  ['not_an_envelope', 'unprocessable'],
  ['data_mismatch', 'unprocessable'],
  ['misconfigured', 'misconfigured'],
  ['store_unavailable', 'unavailable'],
  ['store_full', 'unavailable'],
  ['store_misbehaved', 'unavailable'],
  ['timed_out', 'timed-out'],
  ['given_up', 'timed-out'],
])

/** For a sender that is to retry, and whose own backoff would otherwise decide when. */
const RETRY_SECONDS = RETRY_MS / 1000
const MAX_IN_FLIGHT_SECONDS = 30

export const HANDLED: Outcome = { outcome: 'handled' }
const DUPLICATE: Outcome = { outcome: 'duplicate' }
export const UNHANDLED: Outcome = { outcome: 'unhandled' }
export const METHOD_NOT_ALLOWED: Outcome = { outcome: 'method-not-allowed', code: 'method_not_allowed' }
export const DRAINING: Outcome = {
  outcome: 'unavailable',
  code: 'draining',
  retryAfterSeconds: RETRY_SECONDS,
}

/** A guard has not granted the run. If another delivery is being handled, the sender retries when its lease may be over. */
export function outcomeOfDenial(denial: Denial): Outcome {
  if (denial.status === 'duplicate') return DUPLICATE
  const retryAfterSeconds = wholeSeconds(denial.retryAfterMs / 1000, MAX_IN_FLIGHT_SECONDS)
  return { outcome: 'in-flight', code: 'in_flight', retryAfterSeconds }
}

/** What a `Retry-After` can say: a handler may have overwritten what it was given, and NaN is no time. */
function wholeSeconds(seconds: unknown, max: number): number {
  if (typeof seconds !== 'number' || Number.isNaN(seconds)) return RETRY_SECONDS
  return Math.min(Math.max(Math.ceil(seconds), 1), max)
}

/** What a delivery ends with when a step before the handler throws. An error of any other class is a bug or a misconfiguration: 500. */
export function outcomeOfFault(error: unknown): Outcome {
  const known = codeOf(error) ?? ''
  const outcome = OUTCOME_OF_CODE.get(known) ?? 'misconfigured'
  const code = OUTCOME_OF_CODE.has(known) ? (known as OutcomeCode) : 'misconfigured'
  return STATUS[outcome] === 503
    ? { outcome, code, retryAfterSeconds: RETRY_SECONDS, error }
    : { outcome, code, error }
}

/** What a run ends with when the handler throws: `RetryLater` and `Discard` are obeyed, all else has failed. */
export function outcomeOfThrown(thrown: unknown, kind: string): Outcome {
  try {
    const code = codeOf(thrown)
    if (code === 'discarded') return { outcome: 'discarded', error: thrown }
    if (code === 'retry_later') {
      const retryAfterSeconds = wholeSeconds((thrown as RetryLater).afterSeconds, MAX_RETRY_AFTER_SECONDS)
      return { outcome: 'retry-later', code: 'retry_later', retryAfterSeconds, error: thrown }
    }
  } catch {
    // A proxy of one of ours that traps: nobody knows what it asks for.
  }
  return { outcome: 'failed', code: 'handler_failed', error: asError(thrown, kind) }
}

/** Whether somebody should look at it: a fault, and not an end that a handler asked for. */
export function isFault({ outcome, error }: Outcome): boolean {
  return error !== undefined && outcome !== 'retry-later' && outcome !== 'discarded'
}

/** Whether it is not proven to be of the service, so that anybody can have sent it. */
export function isRefusal({ outcome, error }: Outcome): boolean {
  const status = STATUS[outcome]
  return error !== undefined && status >= 400 && status < 500
}

/**
 * The HTTP answer to an outcome: nothing but its name is in the body.
 *
 * @example
 * ```ts
 * const { status, headers, body } = answerTo(await receiver.receive(delivery))
 * return new Response(body, { status, headers })
 * ```
 */
export function answerTo({ outcome, retryAfterSeconds }: Outcome): Answer {
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (retryAfterSeconds !== undefined) headers['retry-after'] = String(retryAfterSeconds)
  if (outcome === 'method-not-allowed') headers.allow = 'POST'
  // What the client still has to send is not wanted, so the connection cannot be used again (RFC 9112, section 9.6).
  if (outcome === 'incomplete') headers.connection = 'close'
  // Nothing in a name needs escaping.
  return { status: STATUS[outcome], headers, body: `{"outcome":"${outcome}"}` }
}

/** Whether the sender should have to deliver the event again once we can take it. */
export function wantsRetry({ status }: Answer): boolean {
  return status >= 500
}

/** The status alone, for records. */
export function statusOf({ outcome }: Outcome): number {
  return STATUS[outcome]
}

function asError(thrown: unknown, kind: string): unknown {
  if (isError(thrown)) return thrown
  return new RunError(
    'handler_failed',
    `The handler of ${kind} threw something that is not an Error (${typeof thrown}): throw new Error(…), so that its message and stack can be reported.`,
    { cause: thrown },
  )
}

/** Also one of another realm: of a vm, or of a worker's message. */
function isError(thrown: unknown): boolean {
  try {
    return thrown instanceof Error || Object.prototype.toString.call(thrown) === '[object Error]'
  } catch {
    return false
  }
}
