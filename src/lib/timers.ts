/** Times here are monotonic: setting the machine's clock makes no timer fire sooner or later. */

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

/** A timer that does not keep a process alive which has nothing else to do. Workers' timers are plain numbers. */
export function startBackgroundTimer(callback: () => void, ms: number): ReturnType<typeof setTimeout> {
  const timer = setTimeout(callback, ms)
  timer.unref?.()
  return timer
}
