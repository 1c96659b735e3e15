/** The last moment that a `Date` can represent. */
const MAX_MS = 8.64e15

/** @throws RangeError if a `Date` cannot represent it, or it is past */
export function checkMoment(ms: number, nowMs: number = -MAX_MS): void {
  if (!(Math.abs(ms) <= MAX_MS)) {
    throw new RangeError(
      `There is no such time as ${ms} ms since the epoch: pass a number that a Date can represent.`,
    )
  }
  if (ms >= nowMs) return
  const [now, past] = [nowMs, ms].map((time) => new Date(time).toISOString())
  throw new RangeError(`Time does not go back: it is ${now}, and ${past} is past. To start over, reset.`)
}
