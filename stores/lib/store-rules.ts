import type { ClaimRequest, Lease, OnceRequest, RemoteStore } from '../../src/index.js'
import { checkAscii, checkKey, describeValue } from '../../src/internal.js'

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
  checkAscii('token', token, MAX_TOKEN_LENGTH, '')
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

function checkMs(name: string, value: number): void {
  if (typeof value !== 'number' || !(value > 0) || value > Number.MAX_SAFE_INTEGER) {
    throw new TypeError(
      `${name} must be a number of milliseconds above 0 and at most ${Number.MAX_SAFE_INTEGER}, not ${describeValue(value)}.`,
    )
  }
}
