import { codeOf, StoreError } from '../errors.js'
import { describeType } from '../lib/describe-type.js'
import { backgroundPause, monotonicMs, pause, settleBy, type Timers } from '../lib/timers.js'
import type { ClaimResult, IdempotencyStore } from './store.js'

/** No store call is waited for longer: a store that hangs must not take the delivery with it. */
export const STORE_CALL_MS = 2_000

/** The pauses between the tries to record how a run ended, while the sender waits. */
const RETRY_PAUSES_MS = [200, 800]

/** The pauses after that: a cluster takes up to fifteen seconds to fail over. */
const LATE_PAUSES_MS = [2_000, 4_000, 8_000, 15_000]

const PAUSES_MS = [...RETRY_PAUSES_MS, ...LATE_PAUSES_MS]

/** The longest that settling takes: a renewal that is under way, and all tries. */
export const SETTLING_MS: number =
  PAUSES_MS.reduce((sum, pauseMs) => sum + pauseMs, 0) + (PAUSES_MS.length + 2) * STORE_CALL_MS

/** What is called: a method of an idempotency store, or the one of an inbox. */
type Method = keyof IdempotencyStore | 'once'

/** Calls the store a few times, each within its limit: each store method is safe to send again. */
export function callWithRetries<T>(
  method: Method,
  send: () => Promise<T>,
  read: Reader<T>,
  timers: Timers,
): Promise<T> {
  const call = (): Promise<T> => callOnce(method, send, read, timers)
  return call().catch((error) => retry(call, error, RETRY_PAUSES_MS, pause))
}

/** Calls the store again, after `callWithRetries` failed: for half a minute, and keeps no process alive. */
export function callLater<T>(
  method: Method,
  send: () => Promise<T>,
  read: Reader<T>,
  timers: Timers,
  error: unknown,
): Promise<T> {
  return retry(() => callOnce(method, send, read, timers), error, LATE_PAUSES_MS, backgroundPause)
}

async function retry<T>(
  call: () => Promise<T>,
  error: unknown,
  pausesMs: readonly number[],
  wait: (ms: number) => Promise<void>,
): Promise<T> {
  let last = error
  for (const pauseMs of pausesMs) {
    // What broke the contract breaks it again.
    if (codeOf(last) === 'store_misbehaved') break
    await wait(pauseMs)
    try {
      return await call()
    } catch (again) {
      last = again
    }
  }
  throw last
}

/**
 * Calls the store once, within its limit.
 *
 * @throws StoreError
 */
export function callOnce<T>(
  method: Method,
  send: () => Promise<T>,
  read: Reader<T>,
  timers: Timers,
): Promise<T> {
  return resultBy(monotonicMs() + STORE_CALL_MS, method, called(send), read, timers)
}

/** What the store gives by that time of the monotonic clock, if it is what the contract knows; else a StoreError. */
export function resultBy<T>(
  atMs: number,
  method: Method,
  call: Promise<unknown>,
  read: Reader<T>,
  timers: Timers,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const alarm = timers.set(() => reject(timedOut(method)), atMs)
    call.then(
      (result) => {
        alarm.clear()
        settleBy(() => known(method, result, read), resolve, reject)
      },
      (error) => {
        alarm.clear()
        settleBy(() => asStoreError(method, error), reject, reject)
      },
    )
  })
}

/**
 * Calls an inbox, which may be anybody's, without a limit.
 *
 * @throws StoreError for all that it throws, rejects with or returns wrongly
 */
export async function callInbox<T>(send: () => Promise<T>, read: Reader<T>): Promise<T> {
  let result: unknown
  try {
    result = await send()
  } catch (error) {
    throw asStoreError('once', error)
  }
  return known('once', result, read)
}

/** A promise of what it gives, also where it throws at once or gives no promise. */
export function called(send: () => unknown): Promise<unknown> {
  try {
    return Promise.resolve(send())
  } catch (error) {
    return Promise.reject(error)
  }
}

/** @throws StoreError when it is not what the contract knows, or cannot be read */
function known<T>(method: Method, result: unknown, read: Reader<T>): T {
  let cause: unknown
  try {
    const value = read(result)
    if (value !== undefined) return value
  } catch (error) {
    cause = error
  }
  throw new StoreError(
    'store_misbehaved',
    `${nameOf(method)} resolved to ${describeType(result)}, which the contract does not allow: see ${method === 'once' ? 'Inbox' : 'IdempotencyStore'}.`,
    cause === undefined ? {} : { cause },
  )
}

const OWN_CODES = new Set(['store_unavailable', 'store_full', 'store_misbehaved', 'misconfigured'])

function asStoreError(method: Method, error: unknown): StoreError {
  const code = codeOf(error)
  // Of ours is also what a clock that the user gave to a store throws.
  if (code !== undefined && OWN_CODES.has(code)) return error as StoreError
  return new StoreError(
    'store_unavailable',
    `${nameOf(method)} failed: is the database or cache behind it reachable from this process?`,
    { cause: error },
  )
}

function nameOf(method: Method): string {
  return method === 'once' ? "The inbox's once" : `The idempotency store's ${method}`
}

/** What a store call that passed its limit ends with. */
function timedOut(method: Method): StoreError {
  return new StoreError(
    'store_unavailable',
    `${nameOf(method)} took too long: over ${STORE_CALL_MS / 1000} s${method === 'claim' ? ', or the delivery had no more time' : ''}.`,
  )
}

/** Gives a result of somebody else's code as the contract has it, each field read once; `undefined` if it is none. */
export type Reader<T> = (value: unknown) => T | undefined

export function readBoolean(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined
}

export function readClaimResult(value: unknown): ClaimResult | undefined {
  if (typeof value !== 'object' || value === null || !('status' in value)) return undefined
  const { status } = value
  if (status === 'completed') return { status }
  if (status === 'claimed') {
    const { attempt } = value as { attempt?: unknown }
    return Number.isSafeInteger(attempt) && Number(attempt) >= 1
      ? { status, attempt: attempt as number }
      : undefined
  }
  if (status !== 'in-flight') return undefined
  const { retryAfterMs } = value as { retryAfterMs?: unknown }
  return typeof retryAfterMs === 'number' && retryAfterMs >= 0 ? { status, retryAfterMs } : undefined
}
