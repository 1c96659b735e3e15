import { ignoreRejection } from './call-safely.js'
import { describeValue } from './describe-type.js'
import { MAX_TIMER_SECONDS, monotonicMs } from './timers.js'

/** A callback that is due at a time of the monotonic clock. */
export interface Alarm {
  readonly ring: () => void
  readonly atMs: number
  /** A background alarm keeps no process alive. */
  readonly isBackground: boolean
}

/**
 * The time that one task has, and the alarms that are set meanwhile, on one timer: re-armed to the next alarm, and freed at
 * the end. Most tasks are done within the turn of the event loop in which their alarms are set, because a store in memory and
 * many handlers settle in it; so the timer is made when that turn is over. It belongs to one task, because a Worker ends the
 * timers of a request with it.
 */
export class AlarmClock {
  readonly startedAtMs: number = monotonicMs()
  readonly deadlineMs: number
  private alarms: Alarm[] | undefined
  private timer: ReturnType<typeof setTimeout> | undefined
  private armedForMs = 0
  /** A timer can be early, by up to a millisecond: for who has heard it, its time has come. */
  private rungForMs = 0
  private turnEnd: (() => void) | undefined
  private isRinging = false
  private isEnded = false

  constructor(timeoutMs: number = Number.POSITIVE_INFINITY) {
    this.deadlineMs = this.startedAtMs + timeoutMs
  }

  /** By the monotonic clock, and at least the time for which the timer has rung: a fake clock may move timers alone. */
  get nowMs(): number {
    return Math.max(this.rungForMs, monotonicMs())
  }

  /** Whether the deadline has passed, by the clock: a timer can be late, if the event loop was blocked. */
  get isOver(): boolean {
    return this.nowMs >= this.deadlineMs
  }

  get elapsedMs(): number {
    return monotonicMs() - this.startedAtMs
  }

  /** Sets an alarm. Those of one time ring in the order in which they were set. */
  set(ring: () => void, atMs: number, isBackground = false): Alarm {
    const alarm = { ring, atMs, isBackground }
    if (this.alarms === undefined) this.alarms = [alarm]
    else this.alarms.push(alarm)
    this.arm()
    return alarm
  }

  clear(alarm: Alarm): void {
    if (this.take(alarm)) this.arm()
  }

  /** The result of `work`, or, if it has not settled by that time, that of `late`. Work that is given up may settle unheard. */
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
  pause(ms: number, isBackground = false): Promise<void> {
    return new Promise((resolve) => {
      this.set(resolve, this.nowMs + ms, isBackground)
    })
  }

  /** The task has ended: the timer is freed as soon as no alarm is left. */
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
    // One that rings too soon finds nothing to do: cheaper than another one for each step of a delivery.
    if (this.timer !== undefined && this.armedForMs <= nextOf(alarms)) keepAwake(this.timer, alarms)
    else this.armAtTurnEnd()
  }

  private armAtTurnEnd(): void {
    this.turnEnd = atTurnEnd(startClock, this)
    if (this.turnEnd === undefined) this.start()
  }

  /** Public for the callback alone, which is one function for all clocks. */
  start(): void {
    this.turnEnd = undefined
    const alarms = this.alarms as Alarm[]
    if (alarms.length === 0) return
    clearTimeout(this.timer)
    this.armedForMs = nextOf(alarms)
    // Rounded, because a sum of fractions can miss a whole millisecond by a hair.
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
      // An alarm before it may have cleared it.
      if (this.take(alarm)) alarm.ring()
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
 * The result of `work`, or, if it has not settled after `ms`, that of `late`. Work that is given up may reject: nothing is
 * unhandled then.
 *
 * @param ms milliseconds on the monotonic clock, from 0 to 2,147,483,000: a timer can wait no longer
 * @throws what `work` rejects with, or what `late` throws; a TypeError when `ms` is no such number
 * @example
 * ```ts
 * import { StoreError } from 'tix-webhooks'
 * import { within } from 'tix-webhooks/store-kit'
 *
 * function answered<T>(answer: Promise<T>): Promise<T> {
 *   return within(answer, 30_000, () => {
 *     throw new StoreError('store_unavailable', 'The database did not answer within 30 s.')
 *   })
 * }
 * ```
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
 * Calls back when this turn of the event loop is over, unless the returned function is called first; `undefined` if the
 * runtime cannot. It is cleared by the counterpart of what set it, because a test may put its clock in or take it out in
 * between: Node's own `clearImmediate`, given an immediate of such a clock, stops those of the whole process.
 */
function atTurnEnd(callback: (clock: AlarmClock) => void, clock: AlarmClock): (() => void) | undefined {
  const { setImmediate, clearImmediate } = globalThis as Immediates
  if (typeof setImmediate !== 'function') return undefined
  try {
    const immediate = setImmediate(callback, clock)
    return () => clearImmediate?.(immediate)
  } catch {
    // Next's edge runtime has one that only throws.
    return undefined
  }
}
