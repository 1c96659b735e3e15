import { checkOptionNames, describeType, describeValue, systemClock } from '../../src/internal.js'
import type { SignedBody } from '../deliveries/signed-delivery.js'
import { isSuccessStatus, nextAttempt, RETRY_SCHEDULE, retryAfterSeconds } from './retry-schedule.js'
import type { TestClock } from './test-clock.js'

/** An answer of any client, such as `fetch`, supertest or Fastify's `inject`. */
export type AnyAnswer = { readonly headers?: unknown } & (
  | { readonly status: number }
  | { readonly statusCode: number }
)

export interface RetryOptions {
  /** The times of the retries, in seconds after the first attempt. Default `RETRY_SCHEDULE`. */
  schedule?: readonly number[] | undefined
  /**
   * The clock of the receiver. It is advanced to the time of each attempt, which is signed at that time. Default: none; each attempt is
   * signed at the real time, for a receiver without a `now`.
   */
  clock?: TestClock | undefined
}

/** One attempt to deliver. */
export interface DeliveryAttempt<Answer = AnyAnswer> {
  /** 1 is the first. */
  readonly number: number
  /** Seconds of virtual time since the first attempt. */
  readonly afterSeconds: number
  /** The answer of the endpoint; absent if `send` rejected. */
  readonly answer?: Answer
  /** The status of the answer. */
  readonly status?: number
  /** The error that `send` rejected with. The service retries then too. */
  readonly error?: unknown
}

/**
 * Delivers as the service does: retries until a 2xx or the end of the schedule, with a new signature for each attempt. Three days
 * pass in virtual time; nothing sleeps.
 *
 * A `Retry-After` later than the next step delays the attempt, and skips the steps before it. It does not prolong the schedule.
 *
 * @param send sends one attempt and returns the answer
 * @param delivery made by `signedDelivery` or `signedBody`
 * @returns all attempts; the last one shows how the delivery ended
 * @throws TypeError when `send` returns no answer, or an option is invalid
 * @example
 * ```ts
 * import { tixWebhooks } from 'tix-webhooks/fetch'
 * import { deliverWithRetries, signedDelivery } from 'tix-webhooks/testing'
 *
 * const secret = 'whsec_test'
 * const failTwice = (event: unknown, { attempt = 1 }) => {
 *   if (attempt < 3) throw new Error('not yet')
 * }
 * const POST = tixWebhooks({ secret, on: { 'order.created': failTwice }, onError: () => {} })
 *
 * const delivery = await signedDelivery('order.created', { secret })
 * const attempts = await deliverWithRetries(({ toRequest }) => POST(toRequest('/hooks')), delivery)
 * const { number, afterSeconds, status } = attempts.at(-1)!
 * console.assert(number === 3 && afterSeconds === 60 && status === 200)
 * ```
 */
export async function deliverWithRetries<
  Delivery extends SignedBody<string | Uint8Array>,
  Answer extends AnyAnswer,
>(
  send: (delivery: Delivery) => Answer | Promise<Answer>,
  delivery: Delivery,
  options: RetryOptions = {},
): Promise<readonly DeliveryAttempt<Answer>[]> {
  options = checkOptionNames(options, ['schedule', 'clock'])
  const { clock, schedule = RETRY_SCHEDULE } = options
  checkSchedule(schedule)
  checkClock(clock)
  checkSend(send)
  if (typeof delivery?.signAgain !== 'function') {
    throw new TypeError(
      `delivery must be made by signedDelivery or signedBody, so that it can be signed again, not ${describeType(delivery)}.`,
    )
  }

  const now = clock?.now ?? systemClock
  const startMs = now()
  const attempts: DeliveryAttempt<Answer>[] = []
  let afterSeconds: number | undefined = 0
  while (afterSeconds !== undefined) {
    const end = await attempt(send, await delivery.signAgain({ now }))
    attempts.push({ number: attempts.length + 1, afterSeconds, ...end })
    if (end.status !== undefined && isSuccessStatus(end.status)) break
    // A handler may advance the clock: the schedule counts from the first attempt, `Retry-After` from the answer.
    const answeredSeconds = Math.max(afterSeconds, clock === undefined ? 0 : (now() - startMs) / 1000)
    afterSeconds = nextAttempt(schedule, answeredSeconds, retryAfterSeconds(end.answer, now))
    if (afterSeconds !== undefined) clock?.advance(startMs + afterSeconds * 1000 - now())
  }
  return attempts
}

/** Sends once. If the client rejects, the connection was refused or cut: the service retries after that too. */
async function attempt<Delivery, Answer extends AnyAnswer>(
  send: (delivery: Delivery) => Answer | Promise<Answer>,
  delivery: Delivery,
): Promise<Pick<DeliveryAttempt<Answer>, 'answer' | 'status' | 'error'>> {
  let answer: Answer
  try {
    answer = await send(delivery)
  } catch (error) {
    return { error }
  }
  const { status, statusCode = status } = (answer ?? {}) as { status?: unknown; statusCode?: unknown }
  if (typeof statusCode === 'number') return { answer, status: statusCode }
  throw new TypeError(
    `send must return the answer, with its status: it returned ${answer === undefined ? 'undefined. Is a return missing?' : `${describeType(answer)} without one.`}`,
  )
}

/** `clock.now` is easily passed in place of the clock, and cannot be advanced. */
function checkClock(clock: unknown): void {
  const { now, advance } = (clock ?? {}) as Partial<TestClock>
  if (clock === undefined || (typeof now === 'function' && typeof advance === 'function')) return
  throw new TypeError(
    `clock must be the whole object that createTestClock returns, not ${describeType(clock)}.`,
  )
}

function checkSchedule(schedule: readonly number[]): void {
  const isRising =
    Array.isArray(schedule) &&
    schedule.every((seconds, index) => Number.isFinite(seconds) && seconds > (schedule[index - 1] ?? 0))
  if (isRising) return
  throw new TypeError(
    `schedule must be a list of seconds after the first attempt, each later than the one before, such as [5, 60, 300]; not ${
      Array.isArray(schedule) ? `[${schedule.map(describeValue).join(', ')}]` : describeType(schedule)
    }.`,
  )
}

/** @throws TypeError when `send` is not a function */
export function checkSend(send: unknown): void {
  if (typeof send !== 'function') {
    throw new TypeError(`send must be a function (delivery) => answer, not ${describeType(send)}.`)
  }
}
