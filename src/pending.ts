import { isThenable } from './call-safely.js'

/**
 * What may be there already, or be promised. A promise is only made, and only awaited, where there is something to wait
 * for: each costs more than most steps of a delivery.
 */
export type Pending<T> = T | Promise<T>

/** Not by its class: where a library has put its own `Promise` in place, async functions still give the language's. */
export function isPending<T>(value: Pending<T>): value is Promise<T> {
  return isThenable(value)
}

/** What `next` makes of a value: at once where the value is there. */
export function whenThere<T, U>(value: Pending<T>, next: (value: T) => U): Pending<U> {
  return isPending(value) ? value.then(next) : next(value)
}
