import { vi } from 'vitest'
import { WAIT_LIMIT_MS } from './patience.js'

/** Tries again until this no longer throws, in hooks as well, where there is no `expect.poll`; resolves to what it returned. */
export function eventually<T>(attempt: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(attempt, { timeout: WAIT_LIMIT_MS, interval: 10 })
}
