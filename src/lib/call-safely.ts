/**
 * Calls somebody else's function that decides nothing: it is not awaited, and what it throws or rejects is swallowed.
 */
export function callSafely<T extends readonly unknown[]>(
  called: ((...args: T) => unknown) | undefined,
  ...args: T
): void {
  try {
    ignoreRejection(called?.(...args))
  } catch {
    // Its own trouble.
  }
}

/** Keeps a promise that nobody waits for from becoming an unhandled rejection. Some thenables start only when asked. */
export function ignoreRejection(value: unknown): void {
  try {
    // Not `catch`, which a promise may have in a form of its own.
    if (isThenable(value)) Promise.resolve(value).then(undefined, () => {})
  } catch {
    // A getter that throws, or a proxy that traps: no promise.
  }
}

/** Whether it can be awaited, a promise or not. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
}
