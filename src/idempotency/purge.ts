import { callSafely } from '../lib/call-safely.js'
import { checkTimerSeconds, checkWholeNumber } from '../lib/check-number.js'
import { messageOf } from '../lib/message-of.js'
import { pause, startBackgroundTimer } from '../lib/timers.js'

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

/** The `purge` of a store, and its timer. */
export interface Purger extends Purgeable {
  /** Starts the timer, if the store has one and it is not running yet. For the first call of the store: a factory must not set timers. */
  start(): void
}

const DEFAULT_LIMIT = 1_000

/**
 * Gives a store the method `purge`, and purges in the background every so many seconds, from the first `start` on. The timer keeps
 * no process alive. A purge in the background that fails is logged once, and tried again at the next time.
 *
 * @param deleteExpired deletes so many records at most, the oldest first, and resolves to how many went
 * @param everySeconds the option `purgeEverySeconds` of the store. Default: no timer
 * @throws TypeError when the seconds are not above 0, or longer than a timer can be set for
 * @example
 * ```ts
 * import { createPurger } from 'tix-webhooks/store-kit'
 *
 * declare const db: { deleteExpired(limit: number): Promise<number> }
 *
 * export function myStore(options: { purgeEverySeconds?: number } = {}) {
 *   const purger = createPurger((limit) => db.deleteExpired(limit), options.purgeEverySeconds)
 *   return {
 *     async claim() {
 *       purger.start()
 *     },
 *     purge: purger.purge,
 *   }
 * }
 * ```
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
      // Others get a turn in between: SQLite deletes in this very process.
      while ((await deleteExpired(DEFAULT_LIMIT)) === DEFAULT_LIMIT) await pause(0)
      hasFailed = false
    } catch (error) {
      if (!hasFailed) {
        const line = `tix-webhooks: records past their retention could not be purged: ${messageOf(error)}`
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
