import { type Failures, memoryFailures, type WebhookOptions } from 'tix-webhooks'
import { vi } from 'vitest'
import { orderCreated } from './deliveries.js'
import { deferred } from './promises.js'
import { receiving } from './receiving.js'

export const ORDER = orderCreated({ id: 'ord_1' })
/** The key of that order. */
export const KEY = 'orders/order.created/ord_1'

/** A receiver that keeps failures, with a handler that is watched and throws. */
export function failing(options: Partial<WebhookOptions> = {}, message = 'broken') {
  const failures = memoryFailures()
  const handler = vi.fn((..._: unknown[]): unknown => {
    throw new Error(message)
  })
  const on = { 'order.created': handler, 'event.*': handler }
  return { failures, handler, ...receiving({ on, failures, namespace: 'orders', ...options }) }
}

/** Failures that keep nothing before `finish` is called. */
export function slowFailures(): { failures: Failures; finish: () => void } {
  const failures = memoryFailures()
  const slow = deferred()
  const keep: Failures['keep'] = (failed) => slow.promise.then(() => failures.keep(failed))
  return { failures: { ...failures, keep }, finish: () => slow.resolve() }
}
