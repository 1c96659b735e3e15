import { type Deadline, monotonicMs, pause, startBackgroundTimer, startDeadline } from './deadline.js'
import { describeType } from './describe-type.js'
import { isWebhookError, StoreError } from './errors.js'
import type { ClaimRequest, ClaimResult, IdempotencyStore, Lease } from './store.js'

/** No store call is waited for longer: a store that hangs must not take the delivery with it. */
const STORE_CALL_MS = 2_000

/** The pauses between the tries to record how a run ended. */
const RETRY_PAUSES_MS = [200, 800]

/**
 * Asks the store for the right to run, within the store's limit and the delivery's deadline.
 * A claim that is given up and then granted after all is released, so that it blocks nobody.
 *
 * @param track keeps a drain waiting for that release
 * @throws StoreError when the store is down, full, or too slow
 */
export async function claim(
  store: IdempotencyStore,
  request: ClaimRequest,
  deadline: Deadline,
  track: (work: Promise<unknown>) => void,
): Promise<ClaimResult> {
  const call = callStore('claim', () => store.claim(request), isClaimResult)
  const limit = startDeadline(Math.min(STORE_CALL_MS, deadline.remainingMs))
  try {
    return await limit.race(call, () => {
      track(releaseIfGranted(store, request, call))
      throw storeCallTimedOut('claim')
    })
  } finally {
    limit.clear()
  }
}

async function releaseIfGranted(
  store: IdempotencyStore,
  lease: Lease,
  call: Promise<ClaimResult>,
): Promise<void> {
  const granted = call.then(async ({ status }) => {
    if (status === 'claimed') await store.release({ key: lease.key, token: lease.token })
  })
  // A claim may never settle, and nobody is told if it fails now: its lease runs out by itself.
  await within(
    granted.catch(() => {}),
    () => undefined,
  )
}

/** A lease that is renewed until the run is settled or given up. */
export interface HeldLease {
  /** Records the end of the run. A failure is reported and not thrown: the answer does not depend on it. */
  settle(end: 'complete' | 'release'): Promise<void>
  /** Stops renewing: from now on the lease runs out by itself. */
  letGo(): void
}

export interface LeaseTerms {
  readonly store: IdempotencyStore
  readonly lease: Lease
  /** When the claim was sent, on the monotonic clock: the store counts the lease from no earlier. */
  readonly claimedAtMs: number
  readonly leaseMs: number
  readonly retainMs: number
  /** The lease is no longer ours, or can no longer be believed to be. */
  readonly onLost: (reason: StoreError) => void
  readonly report: (error: StoreError) => void
}

/**
 * Keeps a lease alive by renewing it every third of its time. There is one store call at a time for a lease: settling
 * waits for a renewal that is under way.
 */
export function holdLease({
  store,
  lease,
  claimedAtMs,
  leaseMs,
  retainMs,
  onLost,
  report,
}: LeaseTerms): HeldLease {
  let held = true
  let isLost = false
  let validUntilMs = claimedAtMs + leaseMs
  let renewal: Promise<void> | undefined
  let timer = startBackgroundTimer(startRenewal, leaseMs / 3)

  function startRenewal(): void {
    renewal = renew().finally(() => {
      renewal = undefined
      if (held) timer = startBackgroundTimer(startRenewal, leaseMs / 3)
    })
  }

  async function renew(): Promise<void> {
    const sentAtMs = monotonicMs()
    try {
      if (await callOnce('renew', () => store.renew(lease, leaseMs), isBoolean)) {
        validUntilMs = sentAtMs + leaseMs
      } else {
        letGo()
        lost('another delivery has taken the event over')
      }
    } catch (error) {
      report(asStoreError('renew', error))
      if (monotonicMs() >= validUntilMs) lost('it ran out while the store could not be reached')
    }
  }

  function lost(why: string): void {
    if (isLost) return
    isLost = true
    const error = new StoreError(
      'lease_lost',
      `The lease of ${lease.key} was lost while its handler was running: ${why}. The event may run twice; is the event loop blocked for long, or leaseSeconds too short?`,
    )
    onLost(error)
    report(error)
  }

  function letGo(): void {
    held = false
    timer.clear()
  }

  async function settle(end: 'complete' | 'release'): Promise<void> {
    letGo()
    await renewal
    const send = end === 'complete' ? () => store.complete(lease, retainMs) : () => store.release(lease)
    try {
      const recorded = await callWithRetries(end, send, isBoolean)
      if (!recorded && end === 'complete') {
        report(notRecorded(lease, 'its lease had passed to another delivery, so it may have run twice'))
      }
    } catch (cause) {
      report(
        end === 'complete'
          ? notRecorded(lease, 'the store could not be reached, so a later delivery may run it again', {
              cause,
            })
          : notReleased(lease, cause),
      )
    }
  }

  return { settle, letGo }
}

/** Tries a few times: each store method is safe to send again. */
async function callWithRetries<T>(
  name: string,
  send: () => Promise<T>,
  isResult: (value: unknown) => value is T,
): Promise<T> {
  for (const pauseMs of RETRY_PAUSES_MS) {
    try {
      return await callOnce(name, send, isResult)
    } catch {
      await pause(pauseMs)
    }
  }
  return callOnce(name, send, isResult)
}

function callOnce<T>(
  name: string,
  send: () => Promise<T>,
  isResult: (value: unknown) => value is T,
): Promise<T> {
  return within(callStore(name, send, isResult), () => {
    throw storeCallTimedOut(name)
  })
}

async function within<T>(work: Promise<T>, late: () => T): Promise<T> {
  const limit = startDeadline(STORE_CALL_MS)
  try {
    return await limit.race(work, late)
  } finally {
    limit.clear()
  }
}

/** Calls a store that may be anybody's: what it throws, rejects with or returns wrongly becomes a `StoreError`. */
async function callStore<T>(
  name: string,
  send: () => Promise<T>,
  isResult: (value: unknown) => value is T,
): Promise<T> {
  let result: unknown
  try {
    result = await send()
  } catch (error) {
    throw asStoreError(name, error)
  }
  if (isResult(result)) return result
  throw new StoreError(
    'store_unavailable',
    `The idempotency store's ${name} resolved to ${describeType(result)} that the contract does not know: see IdempotencyStore.`,
  )
}

function asStoreError(name: string, error: unknown): StoreError {
  if (isWebhookError(error) && (error.code === 'store_full' || error.code === 'store_unavailable'))
    return error as StoreError
  return new StoreError(
    'store_unavailable',
    `The idempotency store's ${name} failed: is the store reachable from this process?`,
    { cause: error },
  )
}

function storeCallTimedOut(name: string): StoreError {
  return new StoreError(
    'store_unavailable',
    `The idempotency store's ${name} took too long (limit ${STORE_CALL_MS / 1000} s, and the delivery's deadline).`,
  )
}

function notRecorded({ key }: Lease, why: string, options: ErrorOptions = {}): StoreError {
  return new StoreError(
    'not_recorded',
    `${key} was handled, but that could not be recorded: ${why}.`,
    options,
  )
}

function notReleased({ key }: Lease, cause: unknown): StoreError {
  return new StoreError(
    'not_released',
    `${key} failed and could not be released: it runs again when its lease has run out.`,
    { cause },
  )
}

function isBoolean(value: unknown): value is boolean {
  return typeof value === 'boolean'
}

function isClaimResult(value: unknown): value is ClaimResult {
  if (typeof value !== 'object' || value === null || !('status' in value)) return false
  const { status, attempt, retryAfterMs } = value as Record<string, unknown>
  if (status === 'claimed') return Number.isInteger(attempt)
  if (status === 'in-flight') return typeof retryAfterMs === 'number' && retryAfterMs >= 0
  return status === 'completed'
}
