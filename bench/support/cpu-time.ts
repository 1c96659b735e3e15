import { alternate, type Figures } from './rounds.js'

/**
 * Measures contestants that wait for nothing against each other, with no garbage collected but what the measuring itself
 * collects: in a whole collection V8 drops optimised code whose objects have all gone, and each would be measured cold.
 */
export function alternateWarm(
  rounds: number,
  contestants: readonly (() => Promise<number>)[],
): Promise<Figures[]> {
  return alternate(rounds, contestants, () => {})
}

/**
 * Calls so many times, and gives the microseconds of the processor's time that one call took: of all threads of the process,
 * and with the collection of the garbage it made. Whoever else uses the machine takes time from the clock, but none of this.
 */
export async function cpuTimeOf(call: () => unknown, times: number, inFlight = 1): Promise<number> {
  settleYoung()
  const start = process.cpuUsage()
  let left = times
  async function work(): Promise<void> {
    while (left-- > 0) {
      const result = call()
      // What is synchronous does not pay for waiting.
      if (result instanceof Promise) await result
    }
  }
  await Promise.all(Array.from({ length: inFlight }, work))
  collectYoung()
  return usedSince(start) / times
}

/** Calls one after the other for so many milliseconds of the processor's time or a little more, and gives the same. */
export async function cpuTimeFor(call: () => unknown, ms: number): Promise<number> {
  settleYoung()
  const start = process.cpuUsage()
  let calls = 0
  // In batches, so that reading the clock is no part of what is measured.
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

/** What has survived twice is old: what was made before is not moved any more while the time is taken. */
function settleYoung(): void {
  collectYoung()
  collectYoung()
}

/** What is young is all that a delivery leaves behind: so each pays for its own, and for nobody else's. */
function collectYoung(): void {
  globalThis.gc?.({ type: 'minor', execution: 'sync' })
}
