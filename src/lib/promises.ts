/** A promise that is settled from outside. */
export interface Deferred<T> {
  readonly promise: Promise<T>
  readonly resolve: (value: T | PromiseLike<T>) => void
  readonly reject: (reason: unknown) => void
}

/** `Promise.withResolvers`, which Node has since version 22. */
export function deferred<T = void>(): Deferred<T> {
  let resolve: Deferred<T>['resolve'] = () => {}
  let reject: Deferred<T>['reject'] = () => {}
  const promise = new Promise<T>((onValue, onReason) => {
    resolve = onValue
    reject = onReason
  })
  return { promise, resolve, reject }
}

/** A value or a promise of it. A value is not awaited, because an await costs more than most steps of a delivery. */
export type MaybePromise<T> = T | Promise<T>

/** Not `instanceof`: if a library replaces the global `Promise`, async functions still return the native one. */
export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return isThenable(value)
}

/** The result of `next` on the value: synchronously if the value is not a promise. */
export function whenSettled<T, U>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<U>,
): MaybePromise<U> {
  return isPromise(value) ? value.then(next) : next(value)
}

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
  const reject = (thrown: unknown): void => {
    if (!hasRejected) whenRejected?.(thrown)
    hasRejected = true
  }
  try {
    for (const part of Array.isArray(value) ? value.flat(Number.POSITIVE_INFINITY) : [value]) {
      // Not `catch`, which a promise may override.
      if (isThenable(part)) Promise.resolve(part).then((one) => ignoreRejection(one, reject), reject)
    }
  } catch {
    // A getter or a proxy that throws: not a promise.
  }
}

/** Whether it can be awaited: a promise or another thenable. What throws when it is looked at is none. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  try {
    return typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
  } catch {
    return false
  }
}
