/** Resolves after some seconds of the fake clock; at once for none, so that not every step is a timer. */
export function pass(seconds: number): Promise<void> {
  if (seconds === 0) return Promise.resolve()
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000))
}
