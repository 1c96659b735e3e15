import { isConflict, isLockWait } from './advice.js'

/** The most attempts: conflicts that go on for longer are no coincidence. */
const MOST_TRIES = 10

/**
 * Conflicts are ordinary, above all deadlocks: of concurrent writes of neighbouring keys, InnoDB rolls back one, which can be sent again.
 *
 * @param canRetry whether all of it was rolled back, and may be run again
 */
export async function retryConflicts<T>(
  work: () => Promise<T>,
  canRetry: () => boolean = () => true,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (!isConflict(error) || !canRetry() || tries === MOST_TRIES) throw error
    }
  }
}

/** The same for a statement of a migration, which has time: another one may hold its locks for longer than innodb_lock_wait_timeout. */
export async function retryWaits<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await retryConflicts(work)
    } catch (error) {
      if (!isLockWait(error) || tries === MOST_TRIES) throw error
    }
  }
}
