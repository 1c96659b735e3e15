/** A public function, as its own stack trace knows it. */
export type Caller = (...args: never[]) => unknown

/**
 * Makes what a public function returns, with its checks: the stack of a `TypeError` then begins at the line that called
 * `caller`, which is the user's own, and not some frames below it.
 *
 * @throws what `check` throws
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
