import { partsOf } from './parts-of.js'

/**
 * Calls a function whose result does not matter: it is not awaited.
 *
 * @param whenFailed gets what the function throws or rejects, once. Default: it is swallowed
 */
export function callSafely(called: () => unknown, whenFailed?: (thrown: unknown) => void): void {
  try {
    ignoreRejection(called(), whenFailed)
  } catch (thrown) {
    whenFailed?.(thrown)
  }
}

/**
 * Keeps a promise that nothing awaits from becoming an unhandled rejection, and each in a list, such as that of
 * `sinks.map((sink) => sink.report(error))`. Some thenables start only when `then` is called.
 *
 * @param whenRejected gets the first rejection. Default: it is swallowed
 */
export function ignoreRejection(value: unknown, whenRejected?: (thrown: unknown) => void): void {
  let hasRejected = false
  observe(value, new Set(), (thrown) => {
    if (!hasRejected) whenRejected?.(thrown)
    hasRejected = true
  })
}

/** @param seen see `partsOf` */
function observe(value: unknown, seen: Set<unknown>, whenRejected: (thrown: unknown) => void): void {
  for (const part of partsOf(value, seen)) {
    try {
      // Not `catch`, which a promise may override.
      if (isThenable(part))
        Promise.resolve(part).then((one) => observe(one, seen, whenRejected), whenRejected)
    } catch {
      // A getter or a proxy that throws: not a promise.
    }
  }
}

/** Whether it can be awaited: a promise or another thenable. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
}

/** As `isThenable`, of a value that may throw when it is looked at: that is nothing that we know. */
export function isAwaitable(value: unknown): value is PromiseLike<unknown> {
  try {
    return isThenable(value)
  } catch {
    return false
  }
}
