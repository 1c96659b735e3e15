/** A public function, as `Error.captureStackTrace` takes it. */
export type Caller = (...args: never[]) => unknown

/**
 * Runs the checks of a public function and returns their result: the stack of a `TypeError` then begins at the user's line that called
 * `caller`, not some frames below it.
 *
 * @throws the error that `check` throws
 * @example
 * ```ts
 * import type { IdempotencyStore } from 'tix-webhooks'
 * import { checkedFor } from 'tix-webhooks/store-kit'
 *
 * declare function createStore(url: string): IdempotencyStore
 *
 * export function myStore(url: string): IdempotencyStore {
 *   return checkedFor(myStore, () => createStore(url))
 * }
 * ```
 */
export function checkedFor<T>(caller: Caller, check: () => T): T {
  try {
    return check()
  } catch (error) {
    if (error instanceof TypeError) Error.captureStackTrace?.(error, caller)
    throw error
  }
}
