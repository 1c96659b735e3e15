import { afterEach, beforeEach, expect, vi } from 'vitest'

/** Gives each test manual timers, the monotonic and the wall clock together, and removes them afterwards. */
export function useVirtualTime(): void {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    expect(vi.getTimerCount(), 'timers left behind').toBe(0)
    vi.useRealTimers()
  })
}

/** Advances the fake clock by some seconds, and lets everything due happen. */
export async function advance(seconds: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(seconds * 1000)
}

/** Resolves after some seconds of the fake clock; at once for zero, so that not every step is a timer. */
export function sleep(seconds: number): Promise<void> {
  if (seconds === 0) return Promise.resolve()
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000))
}
