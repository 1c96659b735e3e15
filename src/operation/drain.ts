import { DRAIN_GRACE_MS, DRAIN_PAUSE_MS } from '../durations.js'
import { monotonicMs } from '../lib/time/clock.js'

/** Ongoing work, and the latest time at which it ends, on the monotonic clock; that may change meanwhile. */
export interface Bounded {
  readonly endsAtMs: number
}

/** Counts the work of a receiver, so that a shutdown can wait for it. */
export class Drain {
  /** From the first call of `close`: a load balancer should choose another process. */
  isClosing = false
  /** New deliveries are refused. */
  isClosed = false
  /** All deliveries have the same time limit, so the last to arrive has the latest deadline. */
  private deliveries = 0
  private deliveriesEndAtMs = 0
  private readonly tracked = new Set<Bounded>()
  private whenEmpty: (() => void)[] = []
  private whenClosed: (() => void)[] = []

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
   * Refuses new deliveries, and resolves when all counted work has ended, or is past its latest end: a Worker loses the timers of a
   * request that is over, and with them the end of its work. Later calls wait too.
   *
   * @param graceMs how long deliveries are still taken. Of several calls, the grace that ends first counts
   */
  async close(graceMs = 0): Promise<void> {
    this.isClosing = true
    if (graceMs > 0 && !this.isClosed) await settledWithin(this.whenClosed, graceMs)
    this.isClosed = true
    this.whenClosed = settleAll(this.whenClosed)
    const closedAtMs = monotonicMs()
    // In a loop, because work that ended may have started more: a late claim is released, a run outlives its answer.
    while (!this.isEmpty) {
      // Never before the grace is over: if the event loop was blocked, a deadline may have passed whose alarm is not set yet.
      const restMs = Math.max(this.latestMs(), closedAtMs) + DRAIN_GRACE_MS - monotonicMs()
      if (restMs <= 0) return
      await settledWithin(this.whenEmpty, Math.min(restMs, DRAIN_PAUSE_MS))
    }
  }

  private get isEmpty(): boolean {
    return this.deliveries === 0 && this.tracked.size === 0
  }

  private resolveIfEmpty(): void {
    if (this.isEmpty) this.whenEmpty = settleAll(this.whenEmpty)
  }

  private latestMs(): number {
    let latest = this.deliveries === 0 ? 0 : this.deliveriesEndAtMs
    for (const { endsAtMs } of this.tracked) latest = Math.max(latest, endsAtMs)
    return latest
  }
}

/** Resolves when `waiting` is settled, or after `ms`. The timer keeps the process alive: the code after the drain must not be skipped. */
function settledWithin(waiting: (() => void)[], ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    waiting.push(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}

function settleAll(waiting: readonly (() => void)[]): [] {
  for (const settle of waiting) settle()
  return []
}
