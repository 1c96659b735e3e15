/** Calls a user's function whose result does not matter: it is not awaited, and its errors and rejections are swallowed. */
export function callSafely<T extends readonly unknown[]>(
  called: ((...args: T) => unknown) | undefined,
  ...args: T
): void {
  try {
    ignoreRejection(called?.(...args))
  } catch {
    // Ignored, as promised.
  }
}

/** Keeps a promise that nothing awaits from becoming an unhandled rejection. Some thenables start only when `then` is called. */
export function ignoreRejection(value: unknown): void {
  try {
    // Not `catch`, which a promise may override.
    if (isThenable(value)) Promise.resolve(value).then(undefined, () => {})
  } catch {
    // A getter or a proxy that throws: not a promise.
  }
}

/** Whether it can be awaited: a promise or another thenable. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
}
