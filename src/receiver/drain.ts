import { monotonicMs } from '../lib/timers.js'

/** Work that goes on, and when it is over at the latest, on the monotonic clock: that may change meanwhile. */
export interface Bounded {
  readonly endsAtMs: number
}

/** Work that is late by less may still be on its way through the event loop. */
const GRACE_MS = 1_000
/** A timer cannot be set for as long as a run may last. */
const MAX_PAUSE_MS = 60_000

/** Counts the work of a receiver, so that a shutdown can wait for it. */
export class Drain {
  isClosed = false
  /** All deliveries have the same time, so the last that came has the latest deadline. */
  private deliveries = 0
  private deliveriesEndAtMs = 0
  private readonly tracked = new Set<Bounded>()
  private whenEmpty: (() => void)[] = []

  /** A delivery begins; it is counted until `leave`. */
  enter(deadlineMs: number): void {
    this.deliveries += 1
    // What comes while it is closed ends at once.
    if (!this.isClosed) this.deliveriesEndAtMs = deadlineMs
  }

  leave(): void {
    this.deliveries -= 1
    this.resolveIfEmpty()
  }

  /** Counts work that outlives its delivery, until it settles. */
  track(work: Promise<unknown>, bound: Bounded): void {
    // One of its own for each call, because a bound can be tracked twice.
    const entry = {
      get endsAtMs() {
        return bound.endsAtMs
      },
    }
    this.tracked.add(entry)
    const end = (): void => {
      this.tracked.delete(entry)
      this.resolveIfEmpty()
    }
    work.then(end, end)
  }

  /**
   * Lets nothing new in and resolves when all counted work has ended, or should have: on a Worker the timers of a request die
   * with it, and so does what they would have ended. Any call after the first waits too.
   */
  async close(): Promise<void> {
    this.isClosed = true
    const closedAtMs = monotonicMs()
    // In a loop, because work that ended may have started other work: a late claim is released, a run outlives its answer.
    while (!this.isEmpty) {
      // Never sooner than after the grace: if the event loop was blocked, a deadline may have passed whose alarm is not set yet.
      const restMs = Math.max(this.latestMs(), closedAtMs) + GRACE_MS - monotonicMs()
      if (restMs <= 0) return
      await this.emptyWithin(Math.min(restMs, MAX_PAUSE_MS))
    }
  }

  private get isEmpty(): boolean {
    return this.deliveries === 0 && this.tracked.size === 0
  }

  private resolveIfEmpty(): void {
    if (!this.isEmpty) return
    for (const resolve of this.whenEmpty) resolve()
    this.whenEmpty = []
  }

  private latestMs(): number {
    let latest = this.deliveries === 0 ? 0 : this.deliveriesEndAtMs
    for (const { endsAtMs } of this.tracked) latest = Math.max(latest, endsAtMs)
    return latest
  }

  /** By a timer of the caller's own, which keeps the process awake: the code after the drain must not be skipped. */
  private emptyWithin(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.whenEmpty.push(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }
}
