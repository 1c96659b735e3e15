import { ConfigurationError } from '../errors.js'
import { describeValue } from './describe-type.js'

/** The machine's. `Date.now` is looked up at each reading, so that fake timers count which a test installs later. */
export function systemClock(): number {
  return Date.now()
}

/**
 * A wall clock that is what it must be. A `Date` would pass for a number in some places and not in others.
 *
 * @param byDefault the clock where none is given
 * @throws TypeError when it is not a function
 * @returns the clock; it throws a ConfigurationError when the function throws or returns no finite number
 */
export function checkedClock(now: (() => number) | undefined, byDefault: () => number): () => number {
  if (now === undefined) return byDefault
  if (typeof now !== 'function') {
    throw new TypeError(`now must be a function that returns milliseconds, not ${describeValue(now)}.`)
  }
  return () => {
    let ms: unknown
    try {
      ms = now()
    } catch (cause) {
      throw new ConfigurationError(
        'now threw: it must return milliseconds since the epoch as a number, as Date.now does.',
        { cause },
      )
    }
    if (typeof ms === 'number' && Number.isFinite(ms)) return ms
    throw new ConfigurationError(
      `now returned ${describeValue(ms)}: it must return milliseconds since the epoch as a number, as Date.now does.`,
    )
  }
}
