import { describeValue } from '../lib/describe-type.js'
import type { OnceRequest } from './inbox.js'
import type { ClaimRequest, Lease, RemoteStore } from './store.js'

/** Fits into a column, an index and a key of any backend, and is stored unchanged by all of them. */
export const MAX_KEY_LENGTH = 255
const MAX_TOKEN_LENGTH = 64

/**
 * The same store, which rejects what the contract of `IdempotencyStore` does not allow before its backend sees it: a key of 1 to 255
 * characters of printable ASCII, a token of 1 to 64, and durations above 0. The receiver's own requests always pass; other code may call
 * a store too. The rejection is a `TypeError` that names the field.
 */
export function checkedStore<Store extends RemoteStore>(store: Store): Store {
  return {
    ...store,
    claim: checked(checkClaim, (request) => store.claim(request)),
    renew: checked(checkRenew, (lease, leaseMs) => store.renew(lease, leaseMs)),
    complete: checked(checkComplete, (lease, retainMs) => store.complete(lease, retainMs)),
    release: checked(checkLease, (lease) => store.release(lease)),
    isHandled: checked(checkKey, (key) => store.isHandled(key)),
  }
}

/** Returns the promise of the call itself, so that the check costs no turn of the event loop. */
function checked<Args extends readonly unknown[], T>(
  check: (...args: Args) => void,
  call: (...args: Args) => Promise<T>,
): (...args: Args) => Promise<T> {
  return (...args) => {
    try {
      check(...args)
    } catch (error) {
      return Promise.reject(error)
    }
    return call(...args)
  }
}

function checkClaim(request: ClaimRequest): void {
  checkLease(request)
  checkMs('leaseMs', request.leaseMs)
  checkMs('retainMs', request.retainMs)
}

function checkRenew(lease: Lease, leaseMs: number): void {
  checkLease(lease)
  checkMs('leaseMs', leaseMs)
}

function checkComplete(lease: Lease, retainMs: number): void {
  checkLease(lease)
  checkMs('retainMs', retainMs)
}

function checkLease({ key, token }: Lease): void {
  checkKey(key)
  checkText('token', token, MAX_TOKEN_LENGTH, '')
}

/**
 * Refuses a request that the contract of `Inbox` does not allow. A key of `null`, for a plain transaction, passes.
 *
 * @throws TypeError that names the field
 */
export function checkOnce({ key, retainMs }: OnceRequest): void {
  if (key !== null) checkKey(key)
  checkMs('retainMs', retainMs)
}

/**
 * Refuses a key that the contracts do not allow.
 *
 * @throws TypeError
 */
export function checkKey(key: string): void {
  checkText('key', key, MAX_KEY_LENGTH, ': use a hash of it, as the receiver does')
}

function checkMs(name: string, value: number): void {
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
