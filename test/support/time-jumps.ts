import { vi } from 'vitest'

/** The monotonic clock goes on and no timer fires, as when something blocks the thread, or the process is stopped. */
export function jump(seconds: number): void {
  const jumped = vi.isMockFunction(performance.now)
    ? vi.mocked(performance.now).getMockImplementation()
    : undefined
  const now = jumped ?? performance.now.bind(performance)
  vi.spyOn(performance, 'now').mockImplementation(() => now() + seconds * 1000)
}
