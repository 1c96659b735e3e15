import { isThenable } from './call-safely.js'

/** A value, or a promise of it. One that is there is not awaited, because an await costs more than most steps of a delivery. */
export type MaybePromise<T> = T | Promise<T>

/** Not by its class: where a library has put its own `Promise` in place, async functions still return the language's. */
export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return isThenable(value)
}

/** The result of `next` on the value: at once if the value is there. */
export function whenSettled<T, U>(value: MaybePromise<T>, next: (value: T) => U): MaybePromise<U> {
  return isPromise(value) ? value.then(next) : next(value)
}
