/** The headers of an answer, in the form of any client. */
interface Answered {
  readonly headers?: unknown
}

/**
 * The times of the service's retries, in seconds after the first attempt: 5 seconds, 1, 5 and 30 minutes, 2, 6, 12, 24, 48 and
 * 72 hours. The service documents the backoff and the 72 hours; the steps between are an assumption.
 */
export const RETRY_SCHEDULE: readonly number[] = [
  5, 60, 300, 1800, 7200, 21_600, 43_200, 86_400, 172_800, 259_200,
]

/** Whether an answer of this status ends the retries. The service retries after any but a 2xx. */
export function isSuccessStatus(status: number): boolean {
  return status >= 200 && status < 300
}

/**
 * The time of the next attempt: the next step of the schedule, or later if the receiver asks for that. Undefined after the last
 * step. All times are in one unit, and count from the first attempt.
 *
 * @param answered when the last attempt ended
 * @param wait the least time to wait from then
 * @param end the latest time of an attempt
 */
export function nextAttempt(
  schedule: readonly number[],
  answered: number,
  wait: number,
  end: number = schedule.at(-1) ?? 0,
): number | undefined {
  const step = schedule.find((time) => time > answered)
  return step === undefined ? undefined : Math.min(Math.max(step, answered + wait), end)
}

/** The seconds of a `Retry-After`, which may be a number or a date (RFC 9110, section 10.2.3). 0 if it is missing or invalid. */
export function retryAfterSeconds(answer: Answered | undefined, now: () => number): number {
  const text = retryAfterOf(answer?.headers)
  if (/^\d+$/.test(text)) return Number(text)
  // `Date.parse` alone would accept nearly any text with a number.
  const seconds = text.endsWith(' GMT') ? (Date.parse(text) - now()) / 1000 : 0
  return seconds > 0 ? Math.ceil(seconds) : 0
}

function retryAfterOf(headers: unknown): string {
  if (typeof headers !== 'object' || headers === null) return ''
  const { get } = headers as { get?: unknown }
  const value =
    typeof get === 'function'
      ? get.call(headers, 'retry-after')
      : Object.entries(headers).find(([name]) => name.toLowerCase() === 'retry-after')?.[1]
  return String(value ?? '').trim()
}
