import type { Purgeable } from '../../src/index.js'
import {
  callSafely,
  checkTimerSeconds,
  checkWholeNumber,
  pause,
  shownMessageOf,
  startBackgroundTimer,
} from '../../src/internal.js'

/** The `purge` of a store, and its timer. */
export interface Purger extends Purgeable {
  /**
   * Starts the timer, if the store has one and it is not running yet. Called at the first call of the store: a factory must not set
   * timers.
   */
  start(): void
}

const DEFAULT_LIMIT = 1_000

/**
 * Gives a store the method `purge`, and purges in the background at this interval, from the first `start` on. The timer does not keep the
 * process alive. A failed background purge is logged once, and retried at the next interval.
 *
 * @param deleteExpired deletes at most this many records, oldest first, and resolves to the number deleted
 * @param everySeconds the option `purgeEverySeconds` of the store. Default: no timer
 * @throws TypeError when the seconds are not above 0, or longer than a timer can be set for
 */
export function createPurger(
  deleteExpired: (limit: number) => Promise<number>,
  everySeconds?: number | undefined,
): Purger {
  if (everySeconds !== undefined) checkTimerSeconds('purgeEverySeconds', everySeconds)
  let isStarted = false
  let hasFailed = false

  function schedule(): void {
    startBackgroundTimer(() => void purgeAll().then(schedule), (everySeconds as number) * 1000)
  }

  async function purgeAll(): Promise<void> {
    try {
      // Lets other work run in between: SQLite deletes in this very process.
      while ((await deleteExpired(DEFAULT_LIMIT)) === DEFAULT_LIMIT) await pause(0)
      hasFailed = false
    } catch (error) {
      if (!hasFailed) {
        const line = `tix-webhooks: records past their retention could not be purged: ${shownMessageOf(error)}`
        callSafely(() => console.warn(line))
      }
      hasFailed = true
    }
  }

  return {
    async purge({ limit = DEFAULT_LIMIT } = {}) {
      return deleteExpired(checkWholeNumber('limit', limit))
    },
    start() {
      if (isStarted || everySeconds === undefined) return
      isStarted = true
      schedule()
    },
  }
}
