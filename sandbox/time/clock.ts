import { AsyncResource } from 'node:async_hooks'
import { checkMoment } from './check-moment.js'
import { MAX_TIMER_MS } from './duration.js'
import { PendingWork } from './pending-work.js'
import { TimeSource } from './time-source.js'
import { type Timer, TimerQueue } from './timer-queue.js'

/** The result of an advance. */
export interface Advance {
  readonly fromMs: number
  readonly toMs: number
  /** How many timers fired. */
  readonly timers: number
}

export interface ClockOptions {
  /** The initial time, in milliseconds since the epoch. Default: now. */
  startMs?: number | undefined
  /** Whether it stands still until it is advanced. Default false. */
  frozen?: boolean | undefined
  /** Called with errors of timers, which no caller can catch. */
  onError?: ((error: unknown) => void) | undefined
}

const ignore = (): void => {}

/**
 * The time of the sandbox, and its timers. It runs with the real time or stands still. An advance fires all timers
 * that are due by then, in order, and awaits them. So a timer must not await an advance, nor `idle`: each would wait for the other.
 */
export class VirtualClock {
  readonly #timers = new TimerQueue()
  readonly #pending: PendingWork
  readonly #time = new TimeSource()
  #frozen = false
  #wakeUp: NodeJS.Timeout | undefined
  #isPumping = false
  #closed = false
  /** Counts the restarts. */
  #epoch = 0
  /** Advances wait for each other. */
  #advances: Promise<unknown> = Promise.resolve()
  #advancing = 0
  /** Aborted by `breakOff`, which makes the next one. */
  #breaking = new AbortController()

  /** @throws RangeError if the start is no moment of time */
  constructor({ startMs, frozen = false, onError }: ClockOptions = {}) {
    this.#pending = new PendingWork(onError)
    this.restart({ startMs, frozen })
  }

  /** Milliseconds since the epoch, in virtual time; never less than before. It is bound: it can be passed as a callback. */
  readonly now = this.#time.now

  get isFrozen(): boolean {
    return this.#frozen
  }

  /** Stops the clock; during an advance, at its end. */
  freeze(): void {
    this.#frozen = true
    this.#time.stop()
    this.#arm()
  }

  /** Runs with the real time from now on. */
  run(): void {
    this.#frozen = false
    if (this.#advancing === 0) this.#time.run()
    this.#arm()
  }

  /**
   * Does the work at a virtual time: at once if it is past, and then in the `AsyncLocalStorage` context of the caller. Timers of the same
   * moment fire in the order of these calls.
   *
   * @param label describes the work, for `nextLabel`
   * @throws RangeError if it is no moment of time
   */
  at(atMs: number, work: () => unknown, label?: () => string): Timer {
    const isDue = atMs <= this.now()
    const timer = this.#timers.add(atMs, isDue ? AsyncResource.bind(work) : work, label)
    this.#arm()
    return timer
  }

  /** Does the work now. An advance waits for it, and so does `idle`. */
  during<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#pending.during(work)
  }

  /** The label of the next timer; undefined if there is none. */
  nextLabel(): string | undefined {
    return this.#timers.next()?.label?.()
  }

  /** When the next timer is due; undefined if there is none. */
  nextAt(): number | undefined {
    return this.#timers.nextAt()
  }

  /**
   * @param begins called when it is its turn: advances wait for each other
   * @throws RangeError if it is less than 0
   */
  advanceBy(ms: number, begins?: () => void): Promise<Advance> {
    return this.#advance(() => this.now() + ms, begins)
  }

  /** @throws RangeError if that is past: time does not go back */
  advanceTo(ms: number, begins?: () => void): Promise<Advance> {
    return this.#advance(() => ms, begins)
  }

  /** Advances to the next timer and fires it. Without one it does nothing. */
  advanceToNext(begins?: () => void): Promise<Advance> {
    return this.#advance(() => Math.max(this.now(), this.nextAt() ?? this.now()), begins)
  }

  /** Stops each advance that runs or waits for another, at the current time. Work that has begun continues, but is not awaited. */
  breakOff(): void {
    const broken = this.#breaking
    this.#breaking = new AbortController()
    broken.abort()
  }

  /** Resolves when nothing is under way, and nothing is due. */
  async idle(): Promise<void> {
    while (!this.#closed) {
      if (this.#advancing > 0) await this.#advances
      else if (this.#isDue()) this.#runDue()
      else if (!this.#pending.isEmpty) await this.#pending.ended()
      else return
    }
  }

  /**
   * Starts again at any time, without timers. An advance that is running stops; one that waits for it does nothing,
   * because it is of the old time.
   *
   * @throws RangeError if the start is no moment of time
   */
  restart({ startMs, frozen = false }: Pick<ClockOptions, 'startMs' | 'frozen'> = {}): void {
    if (startMs !== undefined) checkMoment(startMs)
    this.#epoch += 1
    this.#timers.clear()
    this.#frozen = frozen
    this.#time.restart(startMs, frozen)
    this.#arm()
  }

  /** Cancels all timers. Does not wait for work that has begun. */
  close(): void {
    this.#closed = true
    clearTimeout(this.#wakeUp)
  }

  async #advance(target: () => number, begins: () => void = ignore): Promise<Advance> {
    this.#advancing += 1
    const epoch = this.#epoch
    const { signal } = this.#breaking
    const advance = this.#advances.then(() => {
      begins()
      return this.#advanceNow(target, epoch, signal)
    })
    this.#advances = advance.catch(ignore)
    try {
      return await advance
    } finally {
      this.#advancing -= 1
      if (this.#advancing === 0 && !this.#frozen) this.#time.run()
      this.#arm()
    }
  }

  async #advanceNow(target: () => number, epoch: number, broken: AbortSignal): Promise<Advance> {
    await this.#workEnded(broken)
    const fromMs = this.now()
    if (this.#epoch !== epoch || broken.aborted) return { fromMs, toMs: fromMs, timers: 0 }
    this.#time.stopAt(fromMs)
    const toMs = target()
    checkMoment(toMs, fromMs)
    let timers = 0
    for (let next = this.nextAt(); next !== undefined && next <= toMs; next = this.nextAt()) {
      if (this.#closed) break
      this.#time.stopAt(Math.max(this.now(), next))
      timers += this.#runDue()
      await this.#workEnded(broken)
      if (this.#epoch !== epoch || broken.aborted) return { fromMs, toMs: this.now(), timers }
    }
    this.#time.stopAt(toMs)
    return { fromMs, toMs, timers }
  }

  /** Resolves when no work is running, including work that began meanwhile, or when the advance is broken off. */
  async #workEnded(broken: AbortSignal): Promise<void> {
    while (!this.#pending.isEmpty && !this.#closed && !broken.aborted) {
      let stop = ignore
      const brokenOff = new Promise<void>((resolve) => {
        stop = resolve
      })
      broken.addEventListener('abort', stop)
      await Promise.race([this.#pending.ended(), brokenOff])
      broken.removeEventListener('abort', stop)
    }
  }

  #isDue(): boolean {
    const nextMs = this.nextAt()
    return nextMs !== undefined && nextMs <= this.now()
  }

  /** Fires all timers that are due, and returns their number. Those that they add for the same moment come after them. */
  #runDue(): number {
    let begun = 0
    for (const work of this.#timers.take(this.now())) {
      this.#pending.begin(work)
      begun += 1
    }
    return begun
  }

  /** Sets the real timer for the next virtual one. An advance fires them itself. */
  #arm(): void {
    clearTimeout(this.#wakeUp)
    this.#wakeUp = undefined
    if (this.#closed || this.#advancing > 0) return
    const nextMs = this.nextAt()
    if (nextMs === undefined) return
    const waitMs = nextMs - this.now()
    if (waitMs <= 0) this.#pumpSoon()
    else if (!this.#frozen)
      this.#wakeUp = setTimeout(() => this.#arm(), Math.min(waitMs, MAX_TIMER_MS)).unref()
  }

  /** Fires what is due after the caller's own work, so that no timer sees it half done. */
  #pumpSoon(): void {
    if (this.#isPumping) return
    this.#isPumping = true
    // Not queueMicrotask, which the fake timers of jest and sinon hold back.
    void Promise.resolve().then(() => {
      this.#isPumping = false
      if (this.#closed || this.#advancing > 0) return
      this.#runDue()
      this.#arm()
    })
  }
}
