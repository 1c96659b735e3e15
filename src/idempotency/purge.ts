import { describeValue } from '../lib/describe-type.js'
import { MAX_TIMER_SECONDS, pause, startBackgroundTimer } from '../lib/timers.js'

/** A store that does not forget by itself. */
export interface Purgeable {
  /**
   * Deletes records that are past their retention, the oldest first; those of others are never touched.
   *
   * @param options.limit how many at most, so that one call stays short. Default 1,000
   * @returns how many went
   */
  purge(options?: { readonly limit?: number }): Promise<number>
}

export const DEFAULT_PURGE_LIMIT = 1_000

/**
 * Purges every so many seconds, from the first `start` on, with a timer that keeps no process alive.
 *
 * @throws TypeError when the seconds make no sense
 */
export function backgroundPurge(
  purge: Purgeable['purge'],
  everySeconds: number | undefined,
): { start(): void } {
  if (everySeconds === undefined) return { start() {} }
  if (typeof everySeconds !== 'number' || !(everySeconds > 0) || everySeconds > MAX_TIMER_SECONDS) {
    throw new TypeError(
      `purgeEverySeconds must be a number of seconds above 0 and at most ${MAX_TIMER_SECONDS}, not ${describeValue(everySeconds)}.`,
    )
  }
  let isStarted = false
  let hasFailed = false

  function schedule(): void {
    startBackgroundTimer(() => void purgeAll().then(schedule), (everySeconds as number) * 1000)
  }

  async function purgeAll(): Promise<void> {
    try {
      // Others get a turn in between: SQLite deletes in this very process.
      while ((await purge()) === DEFAULT_PURGE_LIMIT) await pause(0)
      hasFailed = false
    } catch (error) {
      if (!hasFailed)
        console.warn(
          `tix-webhooks: records past their retention could not be purged: ${error instanceof Error ? error.message : String(error)}`,
        )
      hasFailed = true
    }
  }

  return {
    start() {
      if (isStarted) return
      isStarted = true
      schedule()
    },
  }
}

/** @throws TypeError when it is not a number of records */
export function checkLimit(limit: number): number {
  if (!Number.isSafeInteger(limit) || limit < 1) {
    throw new TypeError(`limit must be a whole number of at least 1, not ${describeValue(limit)}.`)
  }
  return limit
}
