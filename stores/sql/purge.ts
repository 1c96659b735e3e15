import type { Purgeable } from '../../src/index.js'
import {
  callSafely,
  checkTimerSeconds,
  checkWholeNumber,
  DEFAULT_PURGE_SECONDS,
  FIRST_PURGE_SECONDS,
  monotonicMs,
  shownMessageOf,
} from '../../src/internal.js'
import type { CoreSql } from './statement.js'

/** What a purge has deleted. */
export interface Purged {
  readonly deleted: number
  /** How many of them were parked. */
  readonly parked: number
}

/** The `purge` of a store, and the one in the background. */
export interface Purger extends Purgeable {
  /**
   * Does the work of a claim or a delivery, and purges in the background once that has resolved, if it is time: it must not wait for a
   * connection that the purge has. There is no timer, which some runtimes refuse.
   *
   * @param retainMs of the claim
   */
  purgeAfter<T>(retainMs: number, work: () => Promise<T>): Promise<T>
}

const DEFAULT_LIMIT = 1_000

/**
 * What a purge selects, oldest first, by the index of the date. `:age_ms` spares it the events that are too young to be expired: all that are
 * kept, in most tables.
 */
export const EXPIRED: CoreSql =
  'received_at <= :now - :age_ms AND expires_at <= :now ORDER BY received_at, event_key LIMIT :limit'

/**
 * Gives a store the method `purge`, and purges in the background at this interval, and at once again if there was more than one purge may
 * delete. A failed background purge is logged once, and retried at the next interval.
 *
 * @param deleteExpired deletes at most this many events that are at least as old, oldest first
 * @param everySeconds the option `purgeEverySeconds` of the store
 * @throws TypeError when the seconds are not above 0, or longer than a timer can be set for
 */
export function createPurger(
  deleteExpired: (limit: number, minAgeMs: number) => Promise<Purged>,
  everySeconds: number | false = DEFAULT_PURGE_SECONDS,
): Purger {
  if (everySeconds !== false) checkTimerSeconds('purgeEverySeconds', everySeconds)
  // Not at once: neither a short script nor a short test has a purge under way when it closes its database.
  let dueMs = monotonicMs() + Math.min(Number(everySeconds), FIRST_PURGE_SECONDS) * 1000
  let shortestRetentionMs = Number.POSITIVE_INFINITY
  let hasFailed = false

  async function purge(limit: number, minAgeMs: number): Promise<number> {
    const { deleted, parked } = await deleteExpired(limit, minAgeMs)
    if (parked > 0)
      warn(`parked events, which were answered 200, were deleted past their retention: ${parked}.`)
    return deleted
  }

  async function purgeInBackground(): Promise<void> {
    // First, because where the work of a request ends with it, what is below may never run.
    dueMs = monotonicMs() + Number(everySeconds) * 1000
    let isMore = false
    try {
      isMore = (await purge(DEFAULT_LIMIT, shortestRetentionMs)) >= DEFAULT_LIMIT
      hasFailed = false
    } catch (error) {
      if (!hasFailed) warn(`events past their retention could not be purged: ${shownMessageOf(error)}`)
      hasFailed = true
    }
    if (isMore) dueMs = 0
  }

  return {
    purge: async ({ limit = DEFAULT_LIMIT } = {}) => purge(checkWholeNumber('limit', limit), 0),
    async purgeAfter(retainMs, work) {
      shortestRetentionMs = Math.min(shortestRetentionMs, Math.floor(retainMs))
      const result = await work()
      if (everySeconds !== false && monotonicMs() >= dueMs) void purgeInBackground()
      return result
    },
  }
}

function warn(text: string): void {
  callSafely(() => console.warn(`tix-webhooks: ${text}`))
}
