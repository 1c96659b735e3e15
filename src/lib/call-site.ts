/** A public function, as its own stack trace knows it. */
export type Caller = (...args: never[]) => unknown

/**
 * Checks what a public function was given: the stack of the `TypeError` begins at the line that called `caller`, which is the
 * user's own, and not ten frames below it.
 */
export function checkedFor<T>(caller: Caller, check: () => T): T {
  try {
    return check()
  } catch (error) {
    if (error instanceof TypeError) Error.captureStackTrace?.(error, caller)
    throw error
  }
}
