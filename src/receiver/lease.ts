import { StoreError } from '../errors.js'
import type { ClaimRequest, ClaimResult, IdempotencyStore, Lease } from '../idempotency/store.js'
import {
  called,
  callLater,
  callOnce,
  callWithRetries,
  readBoolean,
  readClaimResult,
  resultBy,
  STORE_CALL_MS,
} from '../idempotency/store-call.js'
import type { Deadline } from '../lib/deadline.js'
import { type Alarm, monotonicMs, type Timers } from '../lib/timers.js'
import type { Outcome } from './outcome.js'
import type { RunRecord } from './run.js'

/**
 * Asks the store for the right to run, within the store's limit and the delivery's deadline.
 * A claim that failed for us and was granted after all is released, so that it blocks nobody.
 *
 * @param track keeps a drain waiting for that release
 * @param doubts holds the key until then
 * @throws StoreError when the store is down, full, or too slow
 */
export function claim(
  store: IdempotencyStore,
  request: ClaimRequest,
  { timers, endsAtMs }: Deadline,
  track: (work: Promise<unknown>) => void,
  doubts: Doubts,
): Promise<ClaimResult> {
  const call = called(() => store.claim(request))
  // From after the call, which may have blocked the event loop.
  const atMs = Math.min(monotonicMs() + STORE_CALL_MS, endsAtMs)
  return resultBy(atMs, 'claim', call, readClaimResult, timers).catch((fault) => {
    track(releaseIfGranted(store, request, call, timers, doubts))
    throw fault
  })
}

/**
 * It may have been granted all the same: late, or with a reply that was lost. By the token, this releases nobody else's
 * record; if it fails, the lease runs out by itself.
 */
async function releaseIfGranted(
  store: IdempotencyStore,
  { key, token }: Lease,
  call: Promise<unknown>,
  timers: Timers,
  doubts: Doubts,
): Promise<void> {
  const release = (): Promise<boolean> => store.release({ key, token })
  if (doubts.size < MAX_DOUBTS) doubts.add(key)
  const granted = call.then(mayBeGranted, () => 'maybe' as const)
  const released = granted.then(async (isGranted) => {
    if (isGranted === 'no') return
    // A few times: what lost the reply may lose this too.
    const soon = callWithRetries('release', release, readBoolean, timers)
    // A store that granted it is up again, and one that is down may never have had it.
    const late = soon.catch((error) =>
      isGranted === 'yes' ? callLater('release', release, readBoolean, timers, error) : false,
    )
    void late.catch(() => {}).then(() => doubts.delete(key))
    await soon.catch(() => {})
  })
  void granted.then((isGranted) => isGranted === 'no' && doubts.delete(key))
  const hasSettled = await timers.within(
    granted.then(() => true),
    STORE_CALL_MS,
    () => false,
  )
  if (hasSettled) await released
}

/**
 * The keys that a claim of this receiver may hold although it was given up, so that a lease on one of them does not mean
 * that its event is being handled. Other processes see the lease alone.
 */
export type Doubts = Set<string>

/** More than there are if a store is slow now and then; in an outage no claim is granted. */
const MAX_DOUBTS = 1_000

/** What is no answer, or does not let itself be looked at, says nothing of what the store did. */
function mayBeGranted(result: unknown): 'yes' | 'no' | 'maybe' {
  try {
    const known = readClaimResult(result)
    return known === undefined ? 'maybe' : known.status === 'claimed' ? 'yes' : 'no'
  } catch {
    return 'maybe'
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
  /** Keeps a drain waiting, and the platform if it can. */
  readonly track: (work: Promise<unknown>) => void
}

/** A call that took so much longer than its limit says nothing: the process was stopped, or its event loop blocked. */
const STOPPED_MS = 50

const GONE =
  'the store lost its record before the lease had run out: it was evicted, or the store was flushed, restarted empty, failed over, or had its clock set forward'
const GONE_OR_TAKEN =
  'it ran out before it was renewed, and either another delivery has taken over the event or the store has lost the record; perhaps the event loop was blocked for long, or leaseSeconds is too short'
const UNREACHABLE = 'it ran out while the store could not be reached'
const CLAIMED_SINCE =
  'Another delivery has claimed it since, because its lease had run out or the store had lost the record, and may have run it a second time.'

/**
 * A lease that was granted, as the record of a run. It is renewed every third of its time until the run is settled or
 * given up. If it runs out by our clock, a last renewal decides: nobody may have taken it over. There is one store call at a
 * time for a lease: settling waits for a renewal that is under way, as long as a store call is waited for.
 */
export class HeldLease implements RunRecord {
  private isHeld = true
  private isLost = false
  /** Whether it asks the store a second time what became of it, because the process was stopped during the first. */
  private isAsking = false
  private renewal: Promise<void> | undefined
  private renewing: Alarm
  /** By our clock. The store counts from when the request arrives, so from no earlier than it was sent. */
  private validUntilMs: number

  constructor(private readonly terms: LeaseTerms) {
    this.validUntilMs = terms.claimedAtMs + terms.leaseMs
    this.renewing = this.renewAt(terms.claimedAtMs + terms.leaseMs / 3)
  }

  /** Whether it may be over, so that another delivery may run: the claim, or its reply, took too long. */
  get hasRunOut(): boolean {
    return monotonicMs() >= this.validUntilMs
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
  }

  /** Whether recording works decides nothing: once a handler has returned, a non-2xx would make a second run certain. */
  async settle(outcome: Outcome): Promise<Outcome> {
    const isDone = outcome.outcome === 'handled' || outcome.outcome === 'discarded'
    const { store, lease, retainMs, timers, track } = this.terms
    this.letGo()
    if (this.renewal !== undefined) await this.renewal
    const end = isDone ? 'complete' : 'release'
    const send = (): Promise<boolean> => (isDone ? store.complete(lease, retainMs) : store.release(lease))
    try {
      this.ended(isDone, await callWithRetries(end, send, readBoolean, timers))
    } catch (error) {
      // The sender need not wait for it.
      const late = callLater(end, send, readBoolean, timers, error)
      track(
        late.then(
          (isOurs) => this.ended(isDone, isOurs),
          (cause) => this.failedToEnd(isDone, cause),
        ),
      )
    }
    return outcome
  }

  private ended(isDone: boolean, isOurs: boolean): void {
    const { lease, report } = this.terms
    if (isDone && !isOurs) report(notRecorded(lease, CLAIMED_SINCE))
  }

  private failedToEnd(isDone: boolean, cause: StoreError): void {
    const { lease, report } = this.terms
    const toError = isDone ? notRecorded : notReleased
    report(toError(lease, cause.message, cause))
  }

  private renewAt(atMs: number): Alarm {
    const startRenewal = (): void => {
      this.renewal = this.renew().then((nextAtMs) => {
        this.renewal = undefined
        if (this.isHeld) this.renewing = this.renewAt(nextAtMs)
      })
    }
    return this.terms.timers.set(startRenewal, atMs, true)
  }

  /** Gives when the next one is due. */
  private async renew(): Promise<number> {
    const { store, lease, leaseMs, timers, report } = this.terms
    const sentAtMs = monotonicMs()
    try {
      if (await callOnce('renew', () => store.renew(lease, leaseMs), readBoolean, timers)) {
        this.validUntilMs = sentAtMs + leaseMs
        this.isAsking = false
      } else {
        this.letGo()
        this.lost(monotonicMs() < this.validUntilMs ? GONE : GONE_OR_TAKEN)
      }
    } catch (error) {
      const failedAtMs = monotonicMs()
      const hasRunOut = failedAtMs >= this.validUntilMs
      const wasStopped = failedAtMs - sentAtMs > STORE_CALL_MS + STOPPED_MS
      if (hasRunOut && wasStopped && !this.isAsking) {
        this.isAsking = true
        return failedAtMs
      }
      report(error as StoreError)
      if (hasRunOut) this.lost(UNREACHABLE)
    }
    const nowMs = monotonicMs()
    const nextAtMs = nowMs + leaseMs / 3
    return this.validUntilMs > nowMs ? Math.min(nextAtMs, this.validUntilMs) : nextAtMs
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
