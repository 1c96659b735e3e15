import { afterEach, beforeEach, expect, vi } from 'vitest'

/** Each test has timers that are moved by hand, the monotonic clock and the wall clock together, and leaves none behind. */
export function useVirtualTime(): void {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    expect(vi.getTimerCount(), 'timers left behind').toBe(0)
    vi.useRealTimers()
  })
}

/** Moves the fake clock on by some seconds, and lets all happen that is due by then. */
export async function advance(seconds: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(seconds * 1000)
}

/** Resolves after some seconds of the fake clock; at once for none, so that not every step is a timer. */
export function sleep(seconds: number): Promise<void> {
  if (seconds === 0) return Promise.resolve()
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000))
}
