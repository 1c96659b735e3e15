import { DRAIN_GRACE_MS, DRAIN_PAUSE_MS } from '../durations.js'
import { monotonicMs } from '../lib/time/timers.js'

/** Ongoing work, and the latest time at which it ends, on the monotonic clock; that may change meanwhile. */
export interface Bounded {
  readonly endsAtMs: number
}

/** Counts the work of a receiver, so that a shutdown can wait for it. */
export class Drain {
  isClosed = false
  /** All deliveries have the same time limit, so the last to arrive has the latest deadline. */
  private deliveries = 0
  private deliveriesEndAtMs = 0
  private readonly tracked = new Set<Bounded>()
  private whenEmpty: (() => void)[] = []

  /** Counts a delivery that begins, until `leave`. */
  enter(deadlineMs: number): void {
    this.deliveries += 1
    // A delivery that comes after the close ends at once.
    if (!this.isClosed) this.deliveriesEndAtMs = deadlineMs
  }

  leave(): void {
    this.deliveries -= 1
    this.resolveIfEmpty()
  }

  /** Counts work that outlives its delivery, until it settles. */
  track(work: Promise<unknown>, bound: Bounded): void {
    // A new entry for each call, because a bound can be tracked twice.
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
   * Refuses new deliveries and resolves when all counted work has ended, or should have: on a Worker the timers of a request are lost with
   * it, and so is the work that they would have ended. Later calls wait too.
   */
  async close(): Promise<void> {
    this.isClosed = true
    const closedAtMs = monotonicMs()
    // In a loop, because work that ended may have started more: a late claim is released, a run outlives its answer.
    while (!this.isEmpty) {
      // Never before the grace is over: if the event loop was blocked, a deadline may have passed whose alarm is not set yet.
      const restMs = Math.max(this.latestMs(), closedAtMs) + DRAIN_GRACE_MS - monotonicMs()
      if (restMs <= 0) return
      await this.emptyWithin(Math.min(restMs, DRAIN_PAUSE_MS))
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

  /** Uses a timer of its own that keeps the process alive: the code after the drain must not be skipped. */
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
