import ms from 'ms'

/** Longer than anything here takes, and short enough that every moment stays a date. */
const MAX_MS = 100 * 365 * 86_400_000

/** The longest delay that `setTimeout` takes: it fires at once for a longer one. */
export const MAX_TIMER_MS = 2 ** 31 - 1

const SHAPE = /^\d+(\.\d+)?(ms|s|m|h|d|w)$/

/**
 * A span of time in milliseconds, from `90s`, `5m`, `72h` or `3d`, or from a number of milliseconds.
 *
 * @param name the name of the option, for the message
 * @throws TypeError if it is invalid: a number without a unit, in a text, could be of any unit
 */
export function durationMs(name: string, duration: string | number): number {
  const span =
    typeof duration === 'number' ? duration : SHAPE.test(duration) ? ms(duration as '1h') : Number.NaN
  if (span >= 0 && span <= MAX_MS) return span
  throw new TypeError(
    `${name} must be a span of time such as 90s, 5m, 72h or 3d, of at most 100 years; not ${JSON.stringify(duration)}.`,
  )
}
