import { MAX_TIMER_SECONDS } from '../../durations.js'
import { describeValue } from '../describe-type.js'
import { callSafely, ignoreRejection } from '../promises.js'
import { monotonicMs } from './clock.js'

/** A callback due at a time of the monotonic clock. */
export interface Alarm {
  readonly ring: () => void
  readonly atMs: number
  /** A background alarm keeps no process alive. */
  readonly isBackground: boolean
}

/**
 * The deadline and the alarms of one task, on one timer: re-armed for the next alarm, and cleared at the end. Most tasks end within the
 * turn of the event loop that sets their alarms, because a memory store and many handlers settle in it; so the timer is set only after
 * that turn. Each task has its own, because a Worker ends the timers of a request with it.
 */
export class AlarmClock {
  readonly startedAtMs: number = monotonicMs()
  readonly deadlineMs: number
  private alarms: Alarm[] | undefined
  private timer: ReturnType<typeof setTimeout> | undefined
  private armedForMs = 0
  /** A timer can fire up to a millisecond early: its time counts as reached once it has fired. */
  private rungForMs = 0
  private turnEnd: (() => void) | undefined
  private isRinging = false
  private isEnded = false

  constructor(timeoutMs: number = Number.POSITIVE_INFINITY) {
    this.deadlineMs = this.startedAtMs + timeoutMs
  }

  /** The monotonic clock, and at least the time for which the timer has fired: fake timers may advance without the clock. */
  get nowMs(): number {
    return Math.max(this.rungForMs, monotonicMs())
  }

  /** Whether the deadline has passed, by the clock: a timer can be late if the event loop was blocked. */
  get isOver(): boolean {
    return this.nowMs >= this.deadlineMs
  }

  get elapsedMs(): number {
    return monotonicMs() - this.startedAtMs
  }

  /** Sets an alarm. Alarms of the same time ring in the order they were set. */
  set(ring: () => void, atMs: number, isBackground = false): Alarm {
    const alarm = { ring, atMs, isBackground }
    if (this.alarms === undefined) this.alarms = [alarm]
    else this.alarms.push(alarm)
    this.arm()
    return alarm
  }

  clear(alarm: Alarm | undefined): void {
    if (alarm !== undefined && this.take(alarm)) this.arm()
  }

  /** The result of `work`, or that of `late` if `work` has not settled by then. The later result of `work` is ignored. */
  within<T>(work: Promise<T>, atMs: number, late: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const alarm = this.set(() => {
        try {
          resolve(late())
        } catch (error) {
          reject(error)
        }
      }, atMs)
      work.then(
        (value) => {
          this.clear(alarm)
          resolve(value)
        },
        (error) => {
          this.clear(alarm)
          reject(error)
        },
      )
    })
  }

  /** The same, until the deadline. */
  inTime<T>(work: Promise<T>, late: () => T): Promise<T> {
    return this.within(work, this.deadlineMs, late)
  }

  /** Resolves after `ms`. */
  pause(ms: number, isBackground: boolean): Promise<void> {
    return new Promise((resolve) => {
      this.set(resolve, this.nowMs + ms, isBackground)
    })
  }

  /** Ends the task: the timer is cleared with the last alarm. */
  end(): void {
    this.isEnded = true
    if (this.alarms !== undefined) this.arm()
  }

  private take(alarm: Alarm): boolean {
    const index = this.alarms?.indexOf(alarm) ?? -1
    if (index !== -1) this.alarms?.splice(index, 1)
    return index !== -1
  }

  private arm(): void {
    const alarms = this.alarms as Alarm[]
    if (alarms.length === 0 && this.isEnded) {
      this.free()
      return
    }
    if (this.turnEnd !== undefined || this.isRinging) return
    // A timer that fires too early finds nothing due: cheaper than a new timer for each step of a delivery.
    if (this.timer !== undefined && this.armedForMs <= nextOf(alarms)) keepAwake(this.timer, alarms)
    else this.armAtTurnEnd()
  }

  private armAtTurnEnd(): void {
    this.turnEnd = atTurnEnd(startClock, this)
    if (this.turnEnd === undefined) this.start()
  }

  /** Public only for the callback, which is one function for all clocks. */
  start(): void {
    this.turnEnd = undefined
    const alarms = this.alarms as Alarm[]
    if (alarms.length === 0) return
    clearTimeout(this.timer)
    this.armedForMs = nextOf(alarms)
    // Rounded, because a sum of fractions can miss a whole millisecond by a tiny amount.
    const ms = Math.max(0, Math.round(this.armedForMs - this.nowMs))
    this.timer = setTimeout(() => this.ring(), ms)
    keepAwake(this.timer, alarms)
  }

  private ring(): void {
    this.timer = undefined
    this.rungForMs = Math.max(this.armedForMs, this.nowMs)
    const due = (this.alarms as Alarm[]).filter(({ atMs }) => atMs <= this.rungForMs)
    this.isRinging = true
    for (const alarm of due.sort((a, b) => a.atMs - b.atMs)) {
      // An earlier alarm may have cleared it. One that throws must neither end the process nor silence the others.
      if (this.take(alarm)) callSafely(alarm.ring)
    }
    this.isRinging = false
    this.start()
  }

  private free(): void {
    this.turnEnd?.()
    this.turnEnd = undefined
    clearTimeout(this.timer)
    this.timer = undefined
  }
}

/**
 * The result of `work`, or that of `late` if `work` has not settled after `ms`. A later rejection of `work` is not unhandled.
 *
 * @param ms milliseconds on the monotonic clock, from 0 to 2,147,483,000, the longest timer
 * @throws the rejection of `work`, or the error that `late` throws; a TypeError when `ms` is out of range
 */
export async function within<T>(work: Promise<T>, ms: number, late: () => T): Promise<T> {
  if (typeof ms !== 'number' || !(ms >= 0) || ms > MAX_TIMER_SECONDS * 1000) {
    ignoreRejection(work)
    throw new TypeError(
      `ms must be a number of milliseconds from 0 to ${MAX_TIMER_SECONDS * 1000}, not ${describeValue(ms)}.`,
    )
  }
  const clock = new AlarmClock(ms)
  try {
    return await clock.inTime(work, late)
  } finally {
    clock.end()
  }
}

function startClock(clock: AlarmClock): void {
  clock.start()
}

function nextOf(alarms: readonly Alarm[]): number {
  let next = Number.POSITIVE_INFINITY
  for (const { atMs } of alarms) if (atMs < next) next = atMs
  return next
}

/** Keeps the process alive while an alarm in the foreground is set. Workers' timers are plain numbers. */
function keepAwake(timer: ReturnType<typeof setTimeout>, alarms: readonly Alarm[]): void {
  if (alarms.some(({ isBackground }) => !isBackground)) timer.ref?.()
  else timer.unref?.()
}

/** Missing on most edge runtimes. */
interface Immediates {
  setImmediate?: (callback: (clock: AlarmClock) => void, clock: AlarmClock) => unknown
  clearImmediate?: (immediate: unknown) => void
}

/**
 * Calls back when this turn of the event loop is over, unless the returned function is called first; `undefined` if the runtime cannot. It
 * is cleared by the counterpart of the function that set it, because a test may install or remove fake timers in between: Node's own
 * `clearImmediate`, given a fake immediate, stops those of the whole process.
 */
function atTurnEnd(callback: (clock: AlarmClock) => void, clock: AlarmClock): (() => void) | undefined {
  const { setImmediate, clearImmediate } = globalThis as Immediates
  if (typeof setImmediate !== 'function') return undefined
  try {
    const immediate = setImmediate(callback, clock)
    return () => clearImmediate?.(immediate)
  } catch {
    // Next's edge runtime has one that always throws.
    return undefined
  }
}
