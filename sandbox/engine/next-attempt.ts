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
  end: number,
): number | undefined {
  const step = schedule.find((time) => time > answered)
  return step === undefined ? undefined : Math.min(Math.max(step, answered + wait), end)
}

/**
 * The seconds of a `Retry-After`, which may be a number or a date (RFC 9110, section 10.2.3). 0 if it is missing or invalid.
 *
 * @param text the header's value
 * @param now the time that a date is compared with, in milliseconds
 */
export function retryAfterSeconds(text: string, now: number): number {
  if (/^\d+$/.test(text)) return Number(text)
  // `Date.parse` alone accepts nearly any text with a number.
  const seconds = text.endsWith(' GMT') ? (Date.parse(text) - now) / 1000 : 0
  return seconds > 0 ? Math.ceil(seconds) : 0
}
