import type { Lease, OnceRequest, RemoteLedgerStore, RemoteStore } from '../../src/index.js'
import { checkAscii, checkKey, describeValue } from '../../src/internal.js'

const MAX_TOKEN_LENGTH = 64

/**
 * The same store, which rejects what the contract of `IdempotencyStore` does not allow before its backend sees it: a key of 1 to 255
 * characters of printable ASCII, a token of 1 to 64, and durations above 0. The receiver's own requests always pass; other code may call
 * a store too. The rejection is a `TypeError` that names the field.
 */
export function checkedStore<Store extends RemoteStore & Partial<Pick<RemoteLedgerStore, 'fail'>>>(
  store: Store,
): Store {
  const { fail } = store
  return {
    ...store,
    claim: checked(store.claim, (request) => {
      checkLease(request)
      checkMs('leaseMs', request.leaseMs)
      checkMs('retainMs', request.retainMs)
    }),
    renew: checked(store.renew, (lease, leaseMs) => {
      checkLease(lease)
      checkMs('leaseMs', leaseMs)
    }),
    complete: checked(store.complete, (lease, retainMs) => {
      checkLease(lease)
      checkMs('retainMs', retainMs)
    }),
    release: checked(store.release, checkLease),
    ...(fail && { fail: checked(fail, checkLease) }),
    isHandled: checked(store.isHandled, checkKey),
  }
}

/** Returns the promise of the call itself, so that the check costs no turn of the event loop. */
function checked<Args extends readonly unknown[], T>(
  call: (...args: Args) => Promise<T>,
  check: (...args: Args) => void,
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
