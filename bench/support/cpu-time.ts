import { alternate, type Figures } from './rounds.js'

/** The unit of what is measured here. */
export const PROCESSOR_TIME = 'µs of processor time'

/**
 * Compares contestants that wait for nothing, with no garbage collection except the harness's own: in a full collection V8 drops
 * optimised code whose objects are all gone, and each contestant would be measured cold.
 */
export function alternateWarm(
  rounds: number,
  contestants: readonly (() => Promise<number>)[],
): Promise<Figures[]> {
  return alternate(rounds, contestants, { before: () => {} })
}

/**
 * Makes this many calls, and returns the microseconds of processor time of one call: of all threads of the process, including the
 * collection of its garbage. Other processes affect the clock, but not this figure.
 */
export async function cpuTimeOf(call: () => unknown, times: number, inFlight = 1): Promise<number> {
  settleYoung()
  const start = process.cpuUsage()
  let left = times
  async function work(): Promise<void> {
    while (left-- > 0) {
      const result = call()
      // A synchronous call does not pay for an await.
      if (result instanceof Promise) await result
    }
  }
  await Promise.all(Array.from({ length: inFlight }, work))
  collectYoung()
  return usedSince(start) / times
}

/** Makes calls one after the other for about this many milliseconds of processor time, and returns the same. */
export async function cpuTimeFor(call: () => unknown, ms: number): Promise<number> {
  settleYoung()
  const start = process.cpuUsage()
  let calls = 0
  // In batches, so that reading the clock is not measured.
  for (let batch = 1; usedSince(start) < ms * 1000; batch *= 2) {
    for (let i = 0; i < batch; i++) {
      const result = call()
      if (result instanceof Promise) await result
    }
    calls += batch
  }
  collectYoung()
  return usedSince(start) / calls
}

function usedSince(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start)
  return user + system
}

/** Objects that survive two collections are old: earlier ones are no longer moved during the measurement. */
function settleYoung(): void {
  collectYoung()
  collectYoung()
}

/** A delivery leaves only young garbage: so each contestant pays for its own only. */
function collectYoung(): void {
  globalThis.gc?.({ type: 'minor', execution: 'sync' })
}
