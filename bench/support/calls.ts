export interface Load {
  /** The number of concurrent calls. */
  readonly inFlight: number
  readonly ms: number
}

/** Calls repeatedly for a while, and returns calls per second. */
export async function rateOf(call: () => Promise<unknown>, { inFlight, ms }: Load): Promise<number> {
  const start = performance.now()
  const end = start + ms
  let calls = 0
  async function work(): Promise<void> {
    while (performance.now() < end) {
      await call()
      calls++
    }
  }
  await Promise.all(Array.from({ length: inFlight }, work))
  return (calls / (performance.now() - start)) * 1000
}

/** Makes this many calls, one after the other, and returns the microseconds of one call. */
export async function timeOf(call: () => Promise<unknown>, times: number): Promise<number> {
  const start = performance.now()
  for (let i = 0; i < times; i++) await call()
  return ((performance.now() - start) / times) * 1000
}
