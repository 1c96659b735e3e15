import { describeValue } from '../../src/lib/describe-type.js'
import { toEpochMs } from '../deliveries/dates.js'

/** A clock that stands still until it is told to advance. */
export interface TestClock {
  /** Milliseconds since the epoch. A function of its own: hand it over as it is, `now: clock.now`. */
  readonly now: () => number
  /** Lets so many milliseconds pass. */
  readonly advance: (ms: number) => void
}

const START = '2026-05-17T14:00:00Z'

/**
 * Makes a clock for all that takes a `now`: the receiver with its default store, `memoryStore`, and the deliveries that you sign.
 * Deadlines, and the renewing of a lease, go by the real time; the default store ends a lease by this clock. So let a handler
 * settle before you advance past its lease.
 *
 * @param start where it stands. Default 2026-05-17T14:00:00Z
 * @throws TypeError when `start` is no date
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
