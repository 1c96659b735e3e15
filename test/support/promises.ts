export { deferred } from '../../src/lib/promises.js'

/** A promise that never settles. */
export function never<T = never>(): Promise<T> {
  return new Promise(() => {})
}

/** A function that throws this. */
export function throws(error: unknown): () => never {
  return () => {
    throw error
  }
}

/** Lets the event loop turn this many times, so that everything that can settle does so. */
export async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** Whether a promise has resolved so far; its rejection is unhandled, and fails the test run. */
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
