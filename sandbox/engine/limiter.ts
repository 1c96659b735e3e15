import { AsyncResource } from 'node:async_hooks'
import pLimit from 'p-limit'

export type Limiter = <Result>(work: () => Promise<Result>) => Promise<Result>

/**
 * Limits the work that runs at the same time, in the order of the calls. Each runs in the `AsyncLocalStorage` context of its caller: p-limit
 * alone runs what had to wait in the context of the work that ended before it.
 */
export function limiter(atATime: number): Limiter {
  const limit = pLimit(atATime)
  return (work) => limit(AsyncResource.bind(work))
}
