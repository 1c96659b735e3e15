import { describeValue } from '../lib/describe-type.js'
import type { ClaimRequest, Lease } from './store.js'

/** What fits a column, an index and a key of any backend, and survives each of them unchanged. */
const MAX_KEY_LENGTH = 255
const MAX_TOKEN_LENGTH = 64

/**
 * Refuses a lease that the contract of `IdempotencyStore` does not allow. The receiver's own always pass: it hashes keys
 * that are longer; a store may be called by others too.
 *
 * @throws TypeError that names the field
 */
export function checkLease({ key, token }: Lease): void {
  checkKey(key)
  checkText('token', token, MAX_TOKEN_LENGTH, '')
}

/**
 * Refuses a claim that the contract of `IdempotencyStore` does not allow.
 *
 * @throws TypeError that names the field
 */
export function checkClaim(request: ClaimRequest): void {
  checkLease(request)
  checkMs('leaseMs', request.leaseMs)
  checkMs('retainMs', request.retainMs)
}

/** @throws TypeError when it is not a key that every backend can hold */
export function checkKey(key: string): void {
  checkText('key', key, MAX_KEY_LENGTH, ': use a hash of it, as the receiver does')
}

/**
 * Refuses what is not a duration.
 *
 * @throws TypeError that names it
 */
export function checkMs(name: string, value: number): void {
  if (typeof value !== 'number' || !(value > 0) || value > Number.MAX_SAFE_INTEGER) {
    throw new TypeError(
      `${name} must be a number of milliseconds above 0 and at most ${Number.MAX_SAFE_INTEGER}, not ${describeValue(value)}.`,
    )
  }
}

function checkText(name: string, value: string, maxLength: number, advice: string): void {
  if (typeof value !== 'string') throw new TypeError(`${name} must be a string, not ${describeValue(value)}.`)
  if (value.length === 0 || value.length > maxLength) {
    throw new TypeError(
      `${name} must be 1 to ${maxLength} characters long, and this one has ${value.length}${advice}.`,
    )
  }
  if (!/^[ -~]+$/.test(value)) {
    throw new TypeError(`${name} must be printable ASCII, and this one has other characters${advice}.`)
  }
}
