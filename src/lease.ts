import { type Deadline, monotonicMs, startBackgroundTimer, startDeadline } from './deadline.js'
import { StoreError } from './errors.js'
import type { ClaimRequest, ClaimResult, IdempotencyStore, Lease } from './store.js'
import {
  callOnce,
  callStore,
  callWithRetries,
  isBoolean,
  isClaimResult,
  STORE_CALL_MS,
  storeMethod,
  timedOut,
  within,
} from './store-call.js'

/**
 * Asks the store for the right to run, within the store's limit and the delivery's deadline.
 * A claim that failed for us and was granted after all is released, so that it blocks nobody.
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
  const call = callStore(storeMethod('claim'), () => store.claim(request), isClaimResult)
  const limit = startDeadline(Math.min(STORE_CALL_MS, deadline.remainingMs))
  try {
    return await limit.race(call, () => {
      throw timedOut('claim', ', or the delivery had no more time')
    })
  } catch (fault) {
    track(releaseIfGranted(store, request, call))
    throw fault
  } finally {
    limit.clear()
  }
}

/**
 * It may have been granted all the same: late, or with a reply that was lost. By the token, this releases nobody else's
 * record; where it fails, nobody is told, and the lease runs out by itself.
 */
async function releaseIfGranted(
  store: IdempotencyStore,
  { key, token }: Lease,
  call: Promise<ClaimResult>,
): Promise<void> {
  const isGranted = call.then(
    ({ status }) => status === 'claimed',
    () => true,
  )
  const released = isGranted
    // A few times: what lost the reply may lose this too.
    .then((granted) => granted && callWithRetries('release', () => store.release({ key, token }), isBoolean))
    .catch(() => false)
  const hasSettled = await within(
    isGranted.then(() => true),
    () => false,
  )
  if (hasSettled) await released
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
 * waits for a renewal that is under way, as long as a store call is waited for.
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
  let renewal: Promise<void> | undefined
  let timer = startBackgroundTimer(startRenewal, leaseMs / 3)
  /** By our clock. The store counts from when the request arrives, so from no earlier than it was sent. */
  let validUntilMs = claimedAtMs + leaseMs
  /** Running while a renewal is open or has failed. */
  let expiry: { clear(): void } | undefined

  function startRenewal(): void {
    renewal = renew().finally(() => {
      renewal = undefined
      if (held) timer = startBackgroundTimer(startRenewal, leaseMs / 3)
    })
  }

  async function renew(): Promise<void> {
    const sentAtMs = monotonicMs()
    expiry ??= startBackgroundTimer(runOut, Math.max(0, validUntilMs - sentAtMs))
    try {
      if (await callOnce('renew', () => store.renew(lease, leaseMs), isBoolean)) {
        validUntilMs = sentAtMs + leaseMs
        stopExpiry()
      } else {
        letGo()
        lost(
          'another delivery has taken the event over; is the event loop blocked for long, or leaseSeconds too short?',
        )
      }
    } catch (error) {
      report(error as StoreError)
    }
  }

  function runOut(): void {
    lost('it ran out while the store could not be reached')
  }

  function stopExpiry(): void {
    expiry?.clear()
    expiry = undefined
  }

  function lost(why: string): void {
    if (isLost) return
    isLost = true
    const error = new StoreError(
      'lease_lost',
      `The lease of ${lease.key} was lost while its handler was running, so the event may run twice: ${why}.`,
    )
    onLost(error)
    report(error)
  }

  function letGo(): void {
    held = false
    timer.clear()
    stopExpiry()
  }

  async function settle(end: 'complete' | 'release'): Promise<void> {
    letGo()
    await renewal
    const send = end === 'complete' ? () => store.complete(lease, retainMs) : () => store.release(lease)
    try {
      const recorded = await callWithRetries(end, send, isBoolean)
      if (!recorded && end === 'complete') {
        report(
          unsettled(
            'not_recorded',
            lease,
            'Its lease had passed to another delivery, which may have run it a second time.',
          ),
        )
      }
    } catch (cause) {
      const code = end === 'complete' ? 'not_recorded' : 'not_released'
      report(unsettled(code, lease, (cause as StoreError).message, { cause }))
    }
  }

  return { settle, letGo }
}

function unsettled(
  code: 'not_recorded' | 'not_released',
  { key }: Lease,
  why: string,
  options: ErrorOptions = {},
): StoreError {
  const what =
    code === 'not_recorded'
      ? 'was handled, but that could not be recorded, so it may run again'
      : 'failed and could not be released, so it runs again when its lease has run out'
  return new StoreError(code, `${key} ${what}: ${why}`, options)
}
