/** A promise that somebody else settles. */
export interface Deferred<T> {
  readonly promise: Promise<T>
  readonly resolve: (value: T | PromiseLike<T>) => void
  readonly reject: (reason: unknown) => void
}

/** `Promise.withResolvers`, which Node has from 22 on. */
export function deferred<T = void>(): Deferred<T> {
  let resolve: Deferred<T>['resolve'] = () => {}
  let reject: Deferred<T>['reject'] = () => {}
  const promise = new Promise<T>((onValue, onReason) => {
    resolve = onValue
    reject = onReason
  })
  return { promise, resolve, reject }
}
