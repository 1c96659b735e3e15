/**
 * The one place for time-outs. Durations are monotonic: setting the machine's clock neither cuts a delivery short nor
 * lets it run on.
 */

/** Milliseconds on a clock that nobody can set. */
export function monotonicMs(): number {
  return performance.now()
}

/** The longest that a timer can be set for; a longer one fires at once. */
export const MAX_TIMER_SECONDS = 2_147_483

const PASSED = Symbol('the deadline has passed')

export interface Deadline {
  /** Whether it has passed, by the clock: a timer can be late where the event loop was blocked. */
  readonly passed: boolean
  readonly remainingMs: number
  /** What `work` gives, or, once the deadline has passed, what `late` gives. Work that is given up may settle unheard. */
  race<T>(work: Promise<T>, late: () => T): Promise<T>
  /** Frees the timer. */
  clear(): void
}

/** Starts a deadline `ms` from now. */
export function startDeadline(ms: number): Deadline {
  const endsAt = monotonicMs() + ms
  let timer: ReturnType<typeof setTimeout> | undefined
  // A timer can also be early, by up to a millisecond: who has heard that time is up must not be told otherwise.
  let hasFired = false
  const passing = new Promise<typeof PASSED>((resolve) => {
    timer = setTimeout(() => {
      hasFired = true
      resolve(PASSED)
    }, ms)
  })
  return {
    get passed() {
      return hasFired || monotonicMs() >= endsAt
    },
    get remainingMs() {
      return Math.max(0, endsAt - monotonicMs())
    },
    async race(work, late) {
      const first = await Promise.race([work, passing])
      return first === PASSED ? late() : first
    },
    clear() {
      clearTimeout(timer)
    },
  }
}

/** Resolves after `ms`. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** A timer that does not keep a process alive which has nothing else to do. Workers' timers are plain numbers. */
export function startBackgroundTimer(callback: () => void, ms: number): { clear(): void } {
  const timer: unknown = setTimeout(callback, ms)
  if (typeof timer === 'object' && timer !== null && 'unref' in timer) (timer as NodeJS.Timeout).unref()
  return { clear: () => clearTimeout(timer as Parameters<typeof clearTimeout>[0]) }
}
