import { ConfigurationError } from '../../errors.js'
import { describeValue } from '../describe-type.js'
import { ignoreRejection } from '../promises.js'

/** The machine's clock. `Date.now` is looked up at each reading, so that fake timers installed later are used. */
export function systemClock(): number {
  return Date.now()
}

const RULE = 'it must return milliseconds since the epoch as a number, as Date.now does.'

/**
 * The clock of an option `now`, checked at each reading: a `Date` would pass for a number in some places and not in others.
 *
 * @param byDefault the clock if none is given. Default: `Date.now`, looked up at each reading
 * @returns the clock; it throws a `ConfigurationError` when the function throws or returns no finite number
 * @throws TypeError when `now` is not a function
 */
export function checkedClock(
  now: (() => number) | undefined,
  byDefault: () => number = systemClock,
): () => number {
  if (now === undefined) return byDefault
  if (typeof now !== 'function') {
    throw new TypeError(`now must be a function that returns milliseconds, not ${describeValue(now)}.`)
  }
  return () => {
    let ms: unknown
    try {
      ms = now()
    } catch (cause) {
      throw new ConfigurationError(`now threw: ${RULE}`, { cause })
    }
    if (typeof ms === 'number' && Number.isFinite(ms)) return ms
    ignoreRejection(ms)
    throw new ConfigurationError(`now returned ${describeValue(ms)}: ${RULE}`)
  }
}

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
