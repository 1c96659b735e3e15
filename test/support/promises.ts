export { deferred } from '../../src/lib/deferred.js'

/** What hangs. */
export function never<T = never>(): Promise<T> {
  return new Promise(() => {})
}

/** Lets the event loop turn so many times: each time all that can settle does so. */
export async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** Says whether a promise has resolved so far; its rejection is nobody's, and fails the test run. */
export function watch(promise: Promise<unknown>): { readonly isResolved: boolean } {
  let isResolved = false
  void promise.then(() => {
    isResolved = true
  })
  return {
    get isResolved() {
      return isResolved
    },
  }
}
