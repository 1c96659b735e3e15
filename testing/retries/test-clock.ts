import { describeValue } from '../../src/internal.js'
import { toEpochMs } from '../deliveries/dates.js'

/** A clock that stands still until you advance it. */
export interface TestClock {
  /** Milliseconds since the epoch. Pass it unbound, `now: clock.now`: it does not use `this`. */
  readonly now: () => number
  /** Makes `ms` milliseconds pass. */
  readonly advance: (ms: number) => void
}

const START = '2026-05-17T14:00:00Z'

/**
 * Creates a clock for everything that takes a `now`: the receiver with its default store, `memoryStore`, and the deliveries that
 * you sign. Deadlines and the renewal of a lease use the real time, but the default store ends a lease by this clock: wait for a
 * handler before you advance past its lease.
 *
 * @param start the first time. Default 2026-05-17T14:00:00Z
 * @throws TypeError when `start` is not a date
 * @example
 * ```ts
 * import { tixWebhooks } from 'tix-webhooks/fetch'
 * import { createTestClock, signedDelivery } from 'tix-webhooks/testing'
 *
 * const secret = 'whsec_test'
 * const clock = createTestClock()
 * const POST = tixWebhooks({ secret, on: { 'order.created': () => {} }, now: clock.now })
 *
 * const delivery = await signedDelivery('event.published', { secret, now: clock.now })
 * clock.advance(301_000)
 * const { status } = await POST(delivery.toRequest('/hooks'))
 * console.assert(status === 401) // five minutes are allowed
 * ```
 */
export function createTestClock(start: Date | string | number = START): TestClock {
  let ms = toEpochMs('start', start)
  return {
    now: () => ms,
    advance(by) {
      // Stores rely on a clock that never goes back.
      if (!Number.isFinite(by) || by < 0) {
        throw new TypeError(`A test clock advances by milliseconds, 0 or more, not by ${describeValue(by)}.`)
      }
      ms += by
    },
  }
}
