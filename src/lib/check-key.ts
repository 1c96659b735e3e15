import { describeValue } from './describe-type.js'

/** Fits into a column, an index and a key of any backend, and is stored unchanged by all of them. */
export const MAX_KEY_LENGTH = 255

/**
 * Refuses a key that the contracts do not allow.
 *
 * @throws TypeError
 */
export function checkKey(key: string): void {
  checkAscii('key', key, MAX_KEY_LENGTH, ': use a hash of it, as the receiver does')
}

/** @throws TypeError unless it is 1 to `maxLength` characters of printable ASCII */
export function checkAscii(name: string, value: string, maxLength: number, advice: string): void {
  if (typeof value !== 'string') throw new TypeError(`${name} must be a string, not ${describeValue(value)}.`)
  if (value === '') {
    throw new TypeError(`${name} must be 1 to ${maxLength} characters long, and this one is empty.`)
  }
  if (value.length > maxLength) {
    throw new TypeError(
      `${name} must be 1 to ${maxLength} characters long, and this one has ${value.length}${advice}.`,
    )
  }
  if (!/^[ -~]+$/.test(value)) {
    throw new TypeError(`${name} must be printable ASCII, and this one has other characters${advice}.`)
  }
}
