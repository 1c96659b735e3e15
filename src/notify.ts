/** Calls what only listens: it is not awaited, and nothing that it does reaches the delivery. */
export function notify<T extends readonly unknown[]>(
  listener: ((...args: T) => unknown) | undefined,
  ...args: T
): void {
  try {
    const result = listener?.(...args)
    if (result instanceof Promise) result.catch(() => {})
  } catch {
    // The listener's own trouble.
  }
}
