import { type Alarm, monotonicMs, settleBy, Timers } from './timers.js'

/** The time that one delivery has, from when it is made. */
export class Deadline {
  readonly timers: Timers = new Timers()
  private readonly startedAtMs: number = monotonicMs()
  /** By the monotonic clock. */
  readonly endsAtMs: number
  private readonly alarm: Alarm
  // A timer can be early, by up to a millisecond: who has heard that time is up must not be told otherwise.
  private hasFired = false
  private readonly callbacks: (() => void)[] = []

  constructor(ms: number) {
    this.endsAtMs = this.startedAtMs + ms
    this.alarm = this.timers.set(() => this.pass(), this.endsAtMs)
  }

  /** Whether it has passed, by the clock: a timer can be late where the event loop was blocked. */
  get passed(): boolean {
    return this.hasFired || monotonicMs() >= this.endsAtMs
  }

  get elapsedMs(): number {
    return monotonicMs() - this.startedAtMs
  }

  /** Calls back once it has passed, after what is done already. */
  onPass(callback: () => void): void {
    // Not queueMicrotask, which the fake timers of jest hold back.
    if (this.hasFired) void Promise.resolve().then(callback)
    else this.callbacks.push(callback)
  }

  /** What `work` gives, or, once the deadline has passed, what `late` gives. Work that is given up may settle unheard. */
  race<T>(work: Promise<T>, late: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      let isDone = false
      const settle =
        <V>(by: (value: V) => void) =>
        (value: V): void => {
          isDone = true
          by(value)
        }
      work.then(settle(resolve), settle(reject))
      this.onPass(() => {
        if (!isDone) settleBy(late, resolve, reject)
      })
    })
  }

  /** Frees the timer. */
  clear(): void {
    this.alarm.clear()
  }

  private pass(): void {
    this.hasFired = true
    for (const callback of this.callbacks) callback()
  }
}
