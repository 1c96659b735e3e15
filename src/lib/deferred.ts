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
