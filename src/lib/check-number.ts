import { MAX_TIMER_SECONDS } from '../durations.js'
import { describeValue } from './describe-type.js'

/**
 * Checks an option that is a count.
 *
 * @param name the option's name in the message
 * @param min the least allowed value. Default 1
 * @returns the value
 * @throws TypeError when it is not a whole number of at least `min`
 */
export function checkWholeNumber(name: string, value: number, min = 1): number {
  if (!Number.isSafeInteger(value) || value < min) {
    throw new TypeError(`${name} must be a whole number of at least ${min}, not ${describeValue(value)}.`)
  }
  return value
}

/**
 * Checks a number of seconds that a timer can wait for.
 *
 * @param least default: anything above 0
 * @throws TypeError when it is less, or longer than the longest timer
 */
export function checkTimerSeconds(name: string, value: number, least?: number): number {
  const isEnough = least === undefined ? value > 0 : value >= least
  if (typeof value !== 'number' || !isEnough || value > MAX_TIMER_SECONDS) {
    const floor = least === undefined ? 'above 0' : `that is at least ${least}`
    throw new TypeError(
      `${name} must be a number of seconds ${floor} and at most ${MAX_TIMER_SECONDS}, not ${describeValue(value)}.`,
    )
  }
  return value
}
