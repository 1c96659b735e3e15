import { readProperty } from './errors/read-error.js'

/** A public function, as `Error.captureStackTrace` takes it. */
export type Caller = (...args: never[]) => unknown

/** Marks the TypeErrors of our own checks, so that the ESM and CJS copies of this package recognize each other's. */
const MISUSE = Symbol.for('tix-webhooks.misuse')

/** Whether one of our functions threw it because of invalid arguments: a bug of the caller's, which no retry mends. */
export function isMisuse(error: unknown): boolean {
  return readProperty(error, MISUSE) === true
}

/**
 * Runs the checks of a public function and returns their result: the stack of a `TypeError` then begins at the user's line that called
 * `caller`, not some frames below it.
 *
 * @throws the error that `check` throws
 */
export function checkedFor<T>(caller: Caller, check: () => T): T {
  try {
    return check()
  } catch (error) {
    if (error instanceof TypeError) {
      Object.defineProperty(error, MISUSE, { value: true })
      Error.captureStackTrace?.(error, caller)
    }
    throw error
  }
}
