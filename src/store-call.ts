import { pause, startDeadline } from './deadline.js'
import { describeType } from './describe-type.js'
import { isWebhookError, StoreError } from './errors.js'
import type { ClaimResult } from './store.js'

/** No store call is waited for longer: a store that hangs must not take the delivery with it. */
export const STORE_CALL_MS = 2_000

/** The pauses between the tries to record how a run ended. */
const RETRY_PAUSES_MS = [200, 800]

/** Calls the store a few times, each within its limit: each store method is safe to send again. */
export async function callWithRetries<T>(
  name: string,
  send: () => Promise<T>,
  isResult: (value: unknown) => value is T,
): Promise<T> {
  for (const pauseMs of RETRY_PAUSES_MS) {
    try {
      return await callOnce(name, send, isResult)
    } catch (error) {
      // What broke the contract breaks it again.
      if (isWebhookError(error) && error.code === 'store_misbehaved') throw error
      await pause(pauseMs)
    }
  }
  return callOnce(name, send, isResult)
}

/**
 * Calls the store once, within its limit.
 *
 * @throws StoreError
 */
export function callOnce<T>(
  name: string,
  send: () => Promise<T>,
  isResult: (value: unknown) => value is T,
): Promise<T> {
  return within(callStore(storeMethod(name), send, isResult), () => {
    throw timedOut(name)
  })
}

/** What `work` gives within the limit, or what `late` gives. */
export async function within<T>(
  work: Promise<T>,
  late: () => T,
  limitMs: number = STORE_CALL_MS,
): Promise<T> {
  const limit = startDeadline(limitMs)
  try {
    return await limit.race(work, late)
  } finally {
    limit.clear()
  }
}

/** What is called, as a message says it, and where it is said what it must do. */
export interface Callee {
  readonly what: string
  readonly contract: string
}

export function storeMethod(name: string): Callee {
  return { what: `The idempotency store's ${name}`, contract: 'IdempotencyStore' }
}

/**
 * Calls a store or an inbox, which may be anybody's, without a limit.
 *
 * @throws StoreError for all that it throws, rejects with or returns wrongly
 */
export async function callStore<T>(
  callee: Callee,
  send: () => Promise<T>,
  isResult: (value: unknown) => value is T,
): Promise<T> {
  let result: unknown
  try {
    result = await send()
  } catch (error) {
    throw asStoreError(callee, error)
  }
  if (isResult(result)) return result
  throw new StoreError(
    'store_misbehaved',
    `${callee.what} resolved to ${describeType(result)}, which the contract does not know: see ${callee.contract}.`,
  )
}

function asStoreError({ what }: Callee, error: unknown): StoreError {
  if (isWebhookError(error) && error.code.startsWith('store_')) return error as StoreError
  return new StoreError(
    'store_unavailable',
    `${what} failed: is the database or cache behind it reachable from this process?`,
    { cause: error },
  )
}

/** What a store call that passed its limit ends with. */
export function timedOut(name: string, orElse = ''): StoreError {
  return new StoreError(
    'store_unavailable',
    `The idempotency store's ${name} took too long: over ${STORE_CALL_MS / 1000} s${orElse}.`,
  )
}

export function isBoolean(value: unknown): value is boolean {
  return typeof value === 'boolean'
}

export function isClaimResult(value: unknown): value is ClaimResult {
  if (typeof value !== 'object' || value === null || !('status' in value)) return false
  const { status, attempt, retryAfterMs } = value as Record<string, unknown>
  if (status === 'claimed') return Number.isSafeInteger(attempt) && Number(attempt) >= 1
  if (status === 'in-flight') return typeof retryAfterMs === 'number' && retryAfterMs >= 0
  return status === 'completed'
}
