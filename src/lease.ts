import type { Deadline } from './deadline.js'
import { StoreError } from './errors.js'
import type { Outcome } from './outcome.js'
import type { RunRecord } from './run.js'
import type { ClaimRequest, ClaimResult, IdempotencyStore, Lease } from './store.js'
import {
  called,
  callOnce,
  callWithRetries,
  isBoolean,
  isClaimResult,
  resultBy,
  STORE_CALL_MS,
} from './store-call.js'
import { type Alarm, monotonicMs, type Timers } from './timers.js'

/**
 * Asks the store for the right to run, within the store's limit and the delivery's deadline.
 * A claim that failed for us and was granted after all is released, so that it blocks nobody.
 *
 * @param track keeps a drain waiting for that release
 * @throws StoreError when the store is down, full, or too slow
 */
export function claim(
  store: IdempotencyStore,
  request: ClaimRequest,
  { timers, endsAtMs }: Deadline,
  track: (work: Promise<unknown>) => void,
): Promise<ClaimResult> {
  const call = called(() => store.claim(request))
  // From after the call, which may have blocked the event loop.
  const atMs = Math.min(monotonicMs() + STORE_CALL_MS, endsAtMs)
  return resultBy(atMs, 'claim', call, isClaimResult, timers).catch((fault) => {
    track(releaseIfGranted(store, request, call, timers))
    throw fault
  })
}

/**
 * It may have been granted all the same: late, or with a reply that was lost. By the token, this releases nobody else's
 * record; where it fails, nobody is told, and the lease runs out by itself.
 */
async function releaseIfGranted(
  store: IdempotencyStore,
  { key, token }: Lease,
  call: Promise<unknown>,
  timers: Timers,
): Promise<void> {
  const isGranted = call.then(mayBeGranted, () => true)
  const released = isGranted
    // A few times: what lost the reply may lose this too.
    .then(
      (granted) =>
        granted && callWithRetries('release', () => store.release({ key, token }), isBoolean, timers),
    )
    .catch(() => false)
  const hasSettled = await timers.within(
    isGranted.then(() => true),
    STORE_CALL_MS,
    () => false,
  )
  if (hasSettled) await released
}

/** What is no answer, or does not let itself be looked at, says nothing of what the store did. */
function mayBeGranted(result: unknown): boolean {
  try {
    return !isClaimResult(result) || result.status === 'claimed'
  } catch {
    return true
  }
}

export interface LeaseTerms {
  readonly store: IdempotencyStore
  readonly lease: Lease
  /** When the claim was sent, on the monotonic clock: the store counts the lease from no earlier. */
  readonly claimedAtMs: number
  readonly leaseMs: number
  readonly retainMs: number
  readonly timers: Timers
  /** The lease is no longer ours, or can no longer be believed to be. */
  readonly onLost: (reason: StoreError) => void
  readonly report: (error: StoreError) => void
}

/**
 * A lease that was granted, as the record of a run. It is renewed every third of its time until the run is settled or
 * given up. There is one store call at a time for a lease: settling waits for a renewal that is under way, as long as a
 * store call is waited for.
 */
export class HeldLease implements RunRecord {
  private isHeld = true
  private isLost = false
  private renewal: Promise<void> | undefined
  private renewing: Alarm
  /** By our clock. The store counts from when the request arrives, so from no earlier than it was sent. */
  private validUntilMs: number
  /** Running while a renewal is open or has failed. */
  private expiry: Alarm | undefined

  constructor(private readonly terms: LeaseTerms) {
    this.validUntilMs = terms.claimedAtMs + terms.leaseMs
    this.renewing = this.renewAfter(terms.claimedAtMs)
  }

  call(handler: () => unknown): unknown {
    return handler()
  }

  meanwhile(outcome: Outcome): Outcome {
    return outcome
  }

  /** Stops renewing: from now on the lease runs out by itself. */
  letGo(): void {
    this.isHeld = false
    this.renewing.clear()
    this.stopExpiry()
  }

  /** Whether recording works decides nothing: once a handler has returned, a non-2xx would make a second run certain. */
  async settle(outcome: Outcome): Promise<Outcome> {
    const { store, lease, retainMs, timers, report } = this.terms
    const isDone = outcome.outcome === 'handled' || outcome.outcome === 'discarded'
    this.letGo()
    if (this.renewal !== undefined) await this.renewal
    try {
      if (!isDone) await callWithRetries('release', () => store.release(lease), isBoolean, timers)
      else if (
        !(await callWithRetries('complete', () => store.complete(lease, retainMs), isBoolean, timers))
      ) {
        report(
          notRecorded(
            lease,
            'Its lease had passed to another delivery, which may have run it a second time.',
          ),
        )
      }
    } catch (cause) {
      const why = (cause as StoreError).message
      report(isDone ? notRecorded(lease, why, cause) : notReleased(lease, why, cause))
    }
    return outcome
  }

  private renewAfter(ms: number): Alarm {
    const { timers, leaseMs } = this.terms
    const startRenewal = (): void => {
      this.renewal = this.renew().finally(() => {
        this.renewal = undefined
        if (this.isHeld) this.renewing = this.renewAfter(monotonicMs())
      })
    }
    return timers.set(startRenewal, ms + leaseMs / 3, true)
  }

  private async renew(): Promise<void> {
    const { store, lease, leaseMs, timers, report } = this.terms
    const sentAtMs = monotonicMs()
    const runOut = (): void => this.lost('it ran out while the store could not be reached')
    this.expiry ??= timers.set(runOut, this.validUntilMs, true)
    try {
      if (await callOnce('renew', () => store.renew(lease, leaseMs), isBoolean, timers)) {
        this.validUntilMs = sentAtMs + leaseMs
        this.stopExpiry()
      } else {
        this.letGo()
        this.lost(
          'another delivery has taken the event over; is the event loop blocked for long, or leaseSeconds too short?',
        )
      }
    } catch (error) {
      report(error as StoreError)
    }
  }

  private stopExpiry(): void {
    this.expiry?.clear()
    this.expiry = undefined
  }

  private lost(why: string): void {
    if (this.isLost) return
    this.isLost = true
    const { lease, onLost, report } = this.terms
    const error = new StoreError(
      'lease_lost',
      `The lease of ${lease.key} was lost while its handler was running, so the event may run twice: ${why}.`,
    )
    onLost(error)
    report(error)
  }
}

function notRecorded({ key }: Lease, why: string, cause?: unknown): StoreError {
  return new StoreError(
    'not_recorded',
    `${key} was handled, but that could not be recorded, so it may run again: ${why}`,
    cause === undefined ? {} : { cause },
  )
}

function notReleased({ key }: Lease, why: string, cause: unknown): StoreError {
  return new StoreError(
    'not_released',
    `${key} failed and could not be released, so it runs again when its lease has run out: ${why}`,
    { cause },
  )
}
