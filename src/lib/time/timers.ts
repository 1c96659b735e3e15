/** Times here are monotonic: setting the machine's clock does not move them. */

/** Milliseconds on the monotonic clock. */
export function monotonicMs(): number {
  return performance.now()
}

/** Resolves after `ms`. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** A timer that does not keep the process alive. Workers' timers are plain numbers. */
export function startBackgroundTimer(callback: () => void, ms: number): ReturnType<typeof setTimeout> {
  const timer = setTimeout(callback, ms)
  timer.unref?.()
  return timer
}
