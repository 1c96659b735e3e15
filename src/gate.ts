/** Counts what is going on, so that a shutdown can wait for it. */
export interface Gate {
  readonly closed: boolean
  /** Counts the work until it settles. */
  track(work: Promise<unknown>): void
  /** Lets nothing new in and resolves when all that was counted has settled; any call after the first waits too. */
  close(): Promise<void>
}

const KEEP_AWAKE_MS = 60_000

export function createGate(): Gate {
  let closed = false
  const inside = new Set<Promise<unknown>>()
  return {
    get closed() {
      return closed
    },
    track(work) {
      const leave = (): void => {
        inside.delete(work)
      }
      inside.add(work)
      work.then(leave, leave)
    },
    async close() {
      closed = true
      // The timers of a run do not keep a process alive, and what comes after the drain must not be skipped.
      const awake = setInterval(() => {}, KEEP_AWAKE_MS)
      // In a loop, because what settles may start something: a late claim is released, a run outlives its answer.
      while (inside.size > 0) await Promise.allSettled(inside)
      clearInterval(awake)
    },
  }
}
