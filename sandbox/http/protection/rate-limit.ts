import { HttpError } from '../errors.js'

/** How many requests are taken in how much time. */
export interface RateLimit {
  readonly requests: number
  readonly perSeconds: number
}

/**
 * Counts requests in windows of real time, which begin with the first request.
 *
 * @returns a function that each request calls, and that throws an HttpError if there were too many
 * @throws TypeError if the limit is no limit
 */
export function createRateLimiter({ requests, perSeconds }: RateLimit, now: () => number): () => void {
  if (!Number.isSafeInteger(requests) || requests < 1 || !(perSeconds > 0 && perSeconds < 1e6)) {
    throw new TypeError('rateLimit is a whole number of requests, at least 1, per more than 0 seconds.')
  }
  let endsAtMs = Number.NEGATIVE_INFINITY
  let taken = 0
  return () => {
    const nowMs = now()
    if (nowMs >= endsAtMs) {
      endsAtMs = nowMs + perSeconds * 1000
      taken = 0
    }
    if (taken < requests) {
      taken += 1
      return
    }
    const seconds = Math.max(1, Math.ceil((endsAtMs - nowMs) / 1000))
    throw new HttpError(
      'rate_limited',
      `More than ${requests} requests in ${perSeconds} s. Wait ${seconds} s, as in the header retry-after.`,
      { headers: { 'retry-after': String(seconds) } },
    )
  }
}
