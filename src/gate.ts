/** Counts what is going on, so that a shutdown can wait for it. */
export interface Gate {
  readonly closed: boolean
  /** Something begins; whoever calls it calls `leave` at its end. */
  enter(): void
  leave(): void
  /** Counts the work until it settles. */
  track(work: Promise<unknown>): void
  /** Lets nothing new in and resolves when all that was counted has ended; any call after the first waits too. */
  close(): Promise<void>
}

const KEEP_AWAKE_MS = 60_000

export function createGate(): Gate {
  let closed = false
  let inside = 0
  let whenEmpty: (() => void)[] = []

  function leave(): void {
    inside -= 1
    if (inside > 0) return
    for (const resolve of whenEmpty) resolve()
    whenEmpty = []
  }

  return {
    get closed() {
      return closed
    },
    enter() {
      inside += 1
    },
    leave,
    track(work) {
      inside += 1
      work.then(leave, leave)
    },
    async close() {
      closed = true
      // The timers of a run do not keep a process alive, and what comes after the drain must not be skipped.
      const awake = setInterval(() => {}, KEEP_AWAKE_MS)
      // In a loop, because what has ended may have started something: a late claim is released, a run outlives its answer.
      while (inside > 0) await new Promise<void>((resolve) => whenEmpty.push(resolve))
      clearInterval(awake)
    },
  }
}
