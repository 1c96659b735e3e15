/** The one place for timers. Times are monotonic: setting the machine's clock makes no timer fire sooner or later. */

/** Milliseconds on a clock that nobody can set. */
export function monotonicMs(): number {
  return performance.now()
}

/** The longest that a timer can be set for; a longer one fires at once. */
export const MAX_TIMER_SECONDS = 2_147_483

/** Resolves after `ms`. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** Resolves after `ms`, unless the process has ended by then: it is not kept alive. */
export function backgroundPause(ms: number): Promise<void> {
  return new Promise((resolve) => startBackgroundTimer(resolve, ms))
}

/** A timer that does not keep a process alive which has nothing else to do. Workers' timers are plain numbers. */
export function startBackgroundTimer(callback: () => void, ms: number): ReturnType<typeof setTimeout> {
  const timer = setTimeout(callback, ms)
  timer.unref?.()
  return timer
}

/** What was set, until it is cleared. */
export interface Alarm {
  clear(): void
}

/**
 * The timers of one delivery. Most are cleared within the turn of the event loop in which they are set, because a store in
 * memory and many a handler settle in it; so a real one is only set when that turn is over. They belong to one delivery,
 * because a Worker ends the timers of a request with it.
 */
export class Timers {
  private lazy: LazyAlarm[] = []
  private unclearedCount = 0
  private endOfTurn: Alarm | undefined

  /** Calls back at that time of the monotonic clock. A background alarm keeps no process alive. */
  set(callback: () => void, atMs: number, isBackground = false): Alarm {
    const alarm = new LazyAlarm(this, callback, atMs, isBackground)
    this.endOfTurn ??= atEndOfTurn(startAll, this)
    if (this.endOfTurn === undefined) {
      alarm.start()
    } else {
      this.lazy.push(alarm)
      this.unclearedCount += 1
    }
    return alarm
  }

  /** What `work` gives within `ms`, or what `late` gives. Work that is given up may settle unheard. */
  within<T>(work: Promise<T>, ms: number, late: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const alarm = this.set(() => settleBy(late, resolve, reject), monotonicMs() + ms)
      work.then(
        (value) => {
          alarm.clear()
          resolve(value)
        },
        (error) => {
          alarm.clear()
          reject(error)
        },
      )
    })
  }

  startAll(): void {
    for (const alarm of this.lazy) alarm.start()
    this.reset()
  }

  /** One was cleared before it was started. */
  forgetOne(): void {
    this.unclearedCount -= 1
    if (this.unclearedCount > 0) return
    this.endOfTurn?.clear()
    this.reset()
  }

  private reset(): void {
    this.lazy = []
    this.unclearedCount = 0
    this.endOfTurn = undefined
  }
}

function startAll(timers: Timers): void {
  timers.startAll()
}

/** What many a runtime lacks. */
interface Immediates {
  setImmediate?: (callback: (timers: Timers) => void, timers: Timers) => unknown
  clearImmediate?: (immediate: unknown) => void
}

/**
 * Calls back when this turn of the event loop is over; `undefined` where the runtime cannot. It is cleared by the
 * counterpart of what set it, because a test may put its clock in or take it out in between: Node's own `clearImmediate`,
 * given an immediate of such a clock, stops those of the whole process.
 */
function atEndOfTurn(callback: (timers: Timers) => void, timers: Timers): Alarm | undefined {
  const { setImmediate, clearImmediate } = globalThis as Immediates
  if (typeof setImmediate !== 'function') return undefined
  try {
    const immediate = setImmediate(callback, timers)
    return { clear: () => clearImmediate?.(immediate) }
  } catch {
    // Next's edge runtime has one that only throws.
    return undefined
  }
}

class LazyAlarm implements Alarm {
  private timer: ReturnType<typeof setTimeout> | undefined
  private isCleared = false

  constructor(
    private readonly timers: Timers,
    private readonly callback: () => void,
    private readonly atMs: number,
    private readonly isBackground: boolean,
  ) {}

  start(): void {
    if (this.isCleared) return
    const ms = Math.max(0, this.atMs - monotonicMs())
    this.timer = this.isBackground ? startBackgroundTimer(this.callback, ms) : setTimeout(this.callback, ms)
  }

  clear(): void {
    if (this.isCleared) return
    this.isCleared = true
    if (this.timer === undefined) this.timers.forgetOne()
    else clearTimeout(this.timer)
  }
}

/** Settles a promise by what `give` returns or throws. */
export function settleBy<T>(
  give: () => T,
  resolve: (value: T) => void,
  reject: (error: unknown) => void,
): void {
  try {
    resolve(give())
  } catch (error) {
    reject(error)
  }
}
