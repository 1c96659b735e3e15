/** Calls somebody else's function that decides nothing: it is not awaited, and what it throws or rejects is swallowed. */
export function callSafely<T extends readonly unknown[]>(
  listener: ((...args: T) => unknown) | undefined,
  ...args: T
): void {
  try {
    const result = listener?.(...args)
    if (result instanceof Promise) result.catch(() => {})
  } catch {
    // Its own trouble.
  }
}
