/**
 * Calls a function whose result does not matter: it is not awaited.
 *
 * @param whenFailed gets what the function throws or rejects. Default: it is swallowed
 */
export function callSafely(called: () => unknown, whenFailed?: (thrown: unknown) => void): void {
  try {
    ignoreRejection(called(), whenFailed)
  } catch (thrown) {
    whenFailed?.(thrown)
  }
}

/** Keeps a promise that nothing awaits from becoming an unhandled rejection. Some thenables start only when `then` is called. */
export function ignoreRejection(value: unknown, whenRejected: (thrown: unknown) => void = () => {}): void {
  try {
    // Not `catch`, which a promise may override.
    if (isThenable(value)) Promise.resolve(value).then(undefined, whenRejected)
  } catch {
    // A getter or a proxy that throws: not a promise.
  }
}

/** Whether it can be awaited: a promise or another thenable. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
}
