import { isThenable } from './call-safely.js'

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
