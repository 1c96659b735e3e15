import { monotonicMs } from '../lib/timers.js'

/** Something that goes on, and when it is over at the latest, on the monotonic clock: that may change meanwhile. */
export interface Bounded {
  readonly endsAtMs: number
}

/** Counts what is going on, so that a shutdown can wait for it. */
export interface Gate {
  readonly closed: boolean
  /** Something begins; whoever calls it calls `leave` at its end. */
  enter(what: Bounded): void
  leave(what: Bounded): void
  /** Counts the work until it settles. */
  track(work: Promise<unknown>, what: Bounded): void
  /**
   * Lets nothing new in and resolves when all that was counted has ended, or should have: on a Worker the timers of a
   * request die with it, and so does what they would have ended. Any call after the first waits too.
   */
  close(): Promise<void>
}

/** What is late by less may still be on its way through the event loop. */
const GRACE_MS = 1_000
/** A timer cannot be set for as long as a run may last. */
const MAX_PAUSE_MS = 60_000

export function createGate(): Gate {
  let closed = false
  const inside = new Set<Bounded>()
  let whenEmpty: (() => void)[] = []

  function leave(what: Bounded): void {
    inside.delete(what)
    if (inside.size > 0) return
    for (const resolve of whenEmpty) resolve()
    whenEmpty = []
  }

  function latestMs(): number {
    let latest = 0
    for (const { endsAtMs } of inside) latest = Math.max(latest, endsAtMs)
    return latest + GRACE_MS
  }

  /** By a timer of the caller's own, which keeps the process awake: what comes after the drain must not be skipped. */
  function emptyWithin(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      whenEmpty.push(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }

  return {
    get closed() {
      return closed
    },
    enter(what) {
      inside.add(what)
    },
    leave,
    track(work, what) {
      const entry = {
        get endsAtMs() {
          return what.endsAtMs
        },
      }
      inside.add(entry)
      const end = (): void => leave(entry)
      work.then(end, end)
    },
    async close() {
      closed = true
      // In a loop, because what has ended may have started something: a late claim is released, a run outlives its answer.
      while (inside.size > 0) {
        const restMs = latestMs() - monotonicMs()
        if (restMs <= 0) return
        await emptyWithin(Math.min(restMs, MAX_PAUSE_MS))
      }
    },
  }
}
