import { vi } from 'vitest'

/** The monotonic clock advances and no timer fires, as when the thread is blocked or the process is stopped. */
export function jump(seconds: number): void {
  const { now } = performance
  const before = (vi.isMockFunction(now) && now.getMockImplementation()) || now.bind(performance)
  vi.spyOn(performance, 'now').mockImplementation(() => before() + seconds * 1000)
}
