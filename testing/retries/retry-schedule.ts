/** What is read of an answer: its headers, as any client gives them. */
interface Answered {
  readonly headers?: unknown
}

/**
 * When the service tries again, in seconds after the first attempt: after 5 seconds, 1, 5 and 30 minutes, 2, 6, 12, 24, 48 and 72 hours.
 * Its document gives the 72 hours and the backoff; the steps between are an assumption.
 */
export const RETRY_SCHEDULE: readonly number[] = [
  5, 60, 300, 1800, 7200, 21_600, 43_200, 86_400, 172_800, 259_200,
]

/** Whether an answer of this status ends the retries: all that is not 2xx is tried again. */
export function isSuccessStatus(status: number): boolean {
  return status >= 200 && status < 300
}

/**
 * The next step of a schedule, or later where there is something to wait for; nothing after the last. Steps that pass meanwhile
 * are left out. All times are in one unit, and count from the first attempt.
 *
 * @param answered when the attempt before ended
 * @param wait how long to wait from then, at least
 * @param end the latest that an attempt may be made
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

/** How many seconds an answer asks to wait: a number, or a date (RFC 9110, section 10.2.3). What cannot be read asks for nothing. */
export function retryAfterSeconds(answer: Answered | undefined, now: () => number): number {
  const text = retryAfterOf(answer?.headers)
  if (/^\d+$/.test(text)) return Number(text)
  // `Date.parse` finds a date in nearly anything that has a number in it.
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
