import { LATE_PAUSES_MS, RETRY_PAUSES_MS, STORE_CALL_MS } from '../durations.js'
import { codeOf, StoreError } from '../errors.js'
import { describeType } from '../lib/describe-type.js'
import { causesOf, messageOf } from '../lib/errors/read-error.js'
import { callSafely } from '../lib/promises.js'
import type { AlarmClock } from '../lib/time/alarm-clock.js'
import type { ClaimResult, IdempotencyStore, KeepResult, LedgerStore } from './store.js'

/** A method of an idempotency store, or the one of an inbox. */
type Method = keyof IdempotencyStore | keyof LedgerStore | 'once'

/** Converts a result of foreign code to one of the contract, reading each field once; `undefined` if it is invalid. */
export type Reader<T> = (value: unknown) => T | undefined

/** A call of one store method, which may be sent several times: each method is safe to send again. */
export interface StoreCall<T> {
  readonly method: Method
  readonly send: () => unknown
  readonly read: Reader<T>
  readonly clock: AlarmClock
}

/**
 * Calls the store, within its limit.
 *
 * @throws StoreError
 */
export function callStore<T>(call: StoreCall<T>): Promise<T> {
  return resultOf(call, promised(call.send))
}

/** The result of a call that was already sent, within the limit from now: sending it may have blocked the event loop. */
export function resultOf<T>(
  call: StoreCall<T>,
  sent: Promise<unknown>,
  byMs: number = Number.POSITIVE_INFINITY,
): Promise<T> {
  const { method, read, clock } = call
  const result = sent.then(
    (value) => validated(method, value, read),
    (error) => {
      throw asStoreError(method, error)
    },
  )
  return clock.within(result, Math.min(clock.nowMs + STORE_CALL_MS, byMs), () => {
    throw timedOut(method)
  })
}

/** A promise of the result, also if the call throws or returns synchronously. */
export async function promised(send: () => unknown): Promise<unknown> {
  return send()
}

/** Retries a failed store call a few times while the sender waits. */
export function callAgain<T>(call: StoreCall<T>, error: unknown): Promise<T> {
  return retry(call, error, RETRY_PAUSES_MS, false)
}

/** Retries the store call after `callAgain` failed: for half a minute, without keeping the process alive. */
export function callLater<T>(call: StoreCall<T>, error: unknown): Promise<T> {
  return retry(call, error, LATE_PAUSES_MS, true)
}

async function retry<T>(
  call: StoreCall<T>,
  error: unknown,
  pausesMs: readonly number[],
  isBackground: boolean,
): Promise<T> {
  let last = error
  for (const pauseMs of pausesMs) {
    // A result that breaks the contract would break it again.
    if (codeOf(last) === 'store_misbehaved') break
    await call.clock.pause(pauseMs, isBackground)
    try {
      return await callStore(call)
    } catch (again) {
      last = again
    }
  }
  throw last
}

/**
 * Calls an inbox, which may be foreign code, without a limit.
 *
 * @throws StoreError whatever it throws, rejects with or returns wrongly
 */
export async function callInbox<T>(send: () => Promise<unknown>, read: Reader<T>): Promise<T> {
  let result: unknown
  try {
    result = await send()
  } catch (error) {
    throw asStoreError('once', error)
  }
  return validated('once', result, read)
}

/** @throws StoreError when the contract does not allow it, or it cannot be read */
export function validated<T>(method: Method, result: unknown, read: Reader<T>): T {
  let cause: unknown
  try {
    const value = read(result)
    if (value !== undefined) return value
  } catch (error) {
    cause = error
  }
  // A status that is not awaited is a promise, whose rejection would end the process.
  callSafely(() => Object.values(result as object))
  throw new StoreError(
    'store_misbehaved',
    `${nameOf(method)} returned ${describeType(result)}, which the contract does not allow: ${FORMS[method] ?? 'see IdempotencyStore'}.`,
    cause === undefined ? {} : { cause },
  )
}

/** An inbox that resolves to the bare word is the likeliest mistake. */
const FORMS: Readonly<Partial<Record<Method, string>>> = {
  once: "it resolves to { status: 'handled' | 'discarded' | 'duplicate' | 'in_flight' }, see Inbox",
  keep: "it must be 'failing', 'parked', 'handled' or 'in_flight', see LedgerStore",
  fail: "it must be 'failing', 'parked', 'handled' or 'in_flight', see LedgerStore",
}

const OWN_CODES = new Set([
  'store_unavailable',
  'store_full',
  'store_misbehaved',
  'rolled_back',
  'misconfigured',
])

function asStoreError(method: Method, error: unknown): StoreError {
  const isForeign = isOfAnotherRequest(error)
  const code = codeOf(error)
  // An error of ours may also come from a store's `now` option.
  if (code !== undefined && OWN_CODES.has(code) && !isForeign) return error as StoreError
  return new StoreError(
    'store_unavailable',
    `${nameOf(method)} failed: ${
      isForeign
        ? `its client was made in another request, which Workers forbid: make both for each request, ${method === 'once' ? 'inbox' : 'store'}: (request) => …`
        : 'is the database or cache behind it reachable from this process?'
    }`,
    { cause: error },
  )
}

/** Whether Workers refused the I/O of a client; a store may have wrapped their error. */
function isOfAnotherRequest(error: unknown): boolean {
  return causesOf(error).some((one) => messageOf(one).includes('on behalf of a different request'))
}

function nameOf(method: Method): string {
  return method === 'once' ? "The inbox's once" : `The idempotency store's ${method}`
}

/** The error of a store call that passed its limit. */
function timedOut(method: Method): StoreError {
  return new StoreError(
    'store_unavailable',
    `${nameOf(method)} took too long: over ${STORE_CALL_MS / 1000} s${method === 'claim' ? ', or the delivery had no more time' : ''}.`,
  )
}

export function readBoolean(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined
}

const KEEP_RESULTS: readonly unknown[] = ['failing', 'parked', 'handled', 'in_flight'] satisfies KeepResult[]

export function readKeepResult(value: unknown): KeepResult | undefined {
  return KEEP_RESULTS.includes(value) ? (value as KeepResult) : undefined
}

export function readClaimResult(value: unknown): ClaimResult | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { status } = value as { status?: unknown }
  if (status === 'completed' || status === 'parked') return { status }
  if (status === 'claimed') {
    const { attempt } = value as { attempt?: unknown }
    return Number.isSafeInteger(attempt) && Number(attempt) >= 1
      ? { status, attempt: attempt as number }
      : undefined
  }
  if (status !== 'in_flight') return undefined
  const { retryAfterMs } = value as { retryAfterMs?: unknown }
  return typeof retryAfterMs === 'number' && retryAfterMs >= 0 ? { status, retryAfterMs } : undefined
}
