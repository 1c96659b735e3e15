import { PAUSES_MS, RETRY_SECONDS, STORE_CALL_MS } from '../durations.js'
import { StoreError } from '../errors.js'
import { isThenable } from '../lib/call-safely.js'
import { isPromise, type MaybePromise } from '../lib/maybe-promise.js'
import { runKeeping } from './failing-run.js'
import {
  type Denial,
  type Guard,
  type GuardedDelivery,
  UNPROTECTED,
  type Work,
  type WorkEnd,
} from './guard.js'
import { HeldLease } from './held-lease.js'
import type { ClaimRequest, ClaimResult, IdempotencyStore } from './store.js'
import {
  callAgain,
  callLater,
  promised,
  readBoolean,
  readClaimResult,
  resultOf,
  validated,
} from './store-call.js'
import { tokenSource } from './token.js'

export interface LeaseGuardTerms extends LeaseMemory {
  readonly leaseMs: number
  readonly retainMs: number
}

/** The state of one receiver, for all its stores: there may be one for each request. */
export interface LeaseMemory {
  readonly nextToken: () => string
  /**
   * Keys that a timed-out claim of this receiver may hold: a lease on one of them does not prove that its event is being handled. Other
   * processes see only the lease.
   */
  readonly doubtedKeys: Set<string>
}

/** @param randomUuid for the tokens */
export function leaseMemory(randomUuid: () => string): LeaseMemory {
  return { nextToken: tokenSource(randomUuid), doubtedKeys: new Set() }
}

/** The most keys that are remembered: more than a store causes that is slow now and then. During an outage no claim is granted. */
const MAX_DOUBTED_KEYS = 1_000

const DUPLICATE: Denial = { status: 'duplicate' }

/** Guards with leases on an idempotency store. */
export function leaseGuard(store: IdempotencyStore, terms: LeaseGuardTerms): Guard {
  const { leaseMs, retainMs, nextToken, doubtedKeys } = terms

  function run<End extends WorkEnd>(
    key: string | null,
    delivery: GuardedDelivery,
    work: Work<End>,
  ): MaybePromise<End | Denial> {
    if (key === null) return runUnprotected(delivery, work)
    return withLease(key, delivery, (held) => {
      const { failure } = delivery
      if (failure === undefined) return held.run(work)
      // An event has failed before if it was claimed before.
      const mayBeKept = held.attempt > 1 || store.isVolatile === true
      return runKeeping(failure, mayBeKept, work, (keeping) => held.run(keeping))
    })
  }

  /**
   * Claims the event too, so that `attempt` of the run that handles it says that there may be a failure. While another delivery of the event
   * has it, its end decides whether there is anything to keep: it may die before it has kept its own failure.
   */
  async function keep(key: string | null, delivery: GuardedDelivery, end: WorkEnd): Promise<boolean> {
    const { failure, clock } = delivery
    if (failure === undefined) return false
    if (key === null) return (await failure.keep(end)) === 'parked'
    const keepClaimed = (held: HeldLease): MaybePromise<WorkEnd | Denial> =>
      runKeeping(
        failure,
        false,
        () => end,
        (keeping) => held.run(keeping),
      )
    for (const pauseMs of PAUSES_MS) {
      try {
        const kept = await withLease(key, delivery, keepClaimed)
        if (!('status' in kept)) return false
        if (kept.status !== 'in_flight') return kept.status === 'parked'
      } catch {
        return (await failure.keep(end)) === 'parked'
      }
      if (clock.nowMs + pauseMs >= clock.deadlineMs) return false
      await clock.pause(pauseMs, true)
    }
    return false
  }

  /** Calls `use` with a lease on the event, if it is granted. */
  function withLease<Result>(
    key: string,
    delivery: GuardedDelivery,
    use: (held: HeldLease) => MaybePromise<Result | Denial>,
  ): MaybePromise<Result | Denial> {
    const request: ClaimRequest = { key, token: nextToken(), leaseMs, retainMs }
    const claimedAtMs = delivery.clock.nowMs
    const claimed = claim(request, delivery)
    return isPromise(claimed)
      ? claimed.then((result) => useIfClaimed(result, request, claimedAtMs, delivery, use))
      : useIfClaimed(claimed, request, claimedAtMs, delivery, use)
  }

  /** A store in memory answers synchronously. */
  function claim(request: ClaimRequest, delivery: GuardedDelivery): MaybePromise<ClaimResult> {
    try {
      const sent: unknown = store.claim(request)
      if (isThenable(sent)) return resultOfClaim(Promise.resolve(sent), request, delivery)
      return validated('claim', sent, readClaimResult)
    } catch (error) {
      return resultOfClaim(Promise.reject(error), request, delivery)
    }
  }

  async function resultOfClaim(
    sent: Promise<unknown>,
    request: ClaimRequest,
    delivery: GuardedDelivery,
  ): Promise<ClaimResult> {
    const { clock } = delivery
    const call = { method: 'claim', send: () => sent, read: readClaimResult, clock } as const
    try {
      return await resultOf(call, sent, clock.deadlineMs)
    } catch (fault) {
      delivery.track(releaseIfGranted(sent, request, delivery))
      throw fault
    }
  }

  /** @throws StoreError when the lease ended before it was granted: a store that answers synchronously may have blocked for long */
  function useIfClaimed<Result>(
    result: ClaimResult,
    { key, token }: ClaimRequest,
    claimedAtMs: number,
    delivery: GuardedDelivery,
    use: (held: HeldLease) => MaybePromise<Result | Denial>,
  ): MaybePromise<Result | Denial> {
    if (result.status === 'claimed') {
      const held = new HeldLease(store, { key, token }, result.attempt, claimedAtMs, terms, delivery)
      if (delivery.clock.nowMs < claimedAtMs + leaseMs) return use(held)
      const error = grantedTooLate()
      delivery.track(Promise.resolve(held.end({ outcome: 'unavailable', error })))
      throw error
    }
    if (result.status === 'completed') return DUPLICATE
    // Perhaps nothing handles it: the lease may belong to a timed-out claim, and will be released soon.
    const { retryAfterMs } = result
    return {
      status: 'in_flight',
      retryAfterMs: doubtedKeys.has(key) ? Math.min(retryAfterMs, RETRY_SECONDS * 1000) : retryAfterMs,
    }
  }

  /**
   * Releases a claim that failed here but may have been granted, late or with a lost reply, so that it blocks no other delivery. It
   * releases by token, so no other record; if it fails, the lease expires by itself.
   */
  async function releaseIfGranted(
    sent: Promise<unknown>,
    { key, token }: ClaimRequest,
    { clock }: GuardedDelivery,
  ): Promise<void> {
    const send = (): unknown => store.release({ key, token })
    const call = { method: 'release', send, read: readBoolean, clock } as const
    if (doubtedKeys.size < MAX_DOUBTED_KEYS) doubtedKeys.add(key)
    const granted = sent.then(mayBeGranted, () => 'maybe' as const)
    const released = granted.then(async (isGranted) => {
      if (isGranted === 'no') {
        doubtedKeys.delete(key)
        return
      }
      // Retried, because the fault that lost the reply may lose this call too.
      const soon = resultOf(call, promised(send)).catch((error) => callAgain(call, error))
      // A store that granted it is up again; one that is down may never have received it.
      const late = soon.catch((error) => (isGranted === 'yes' ? callLater(call, error) : false))
      void late.catch(() => {}).then(() => doubtedKeys.delete(key))
      await soon.catch(() => {})
    })
    const hasSettled = await clock.within(
      granted.then(() => true),
      clock.nowMs + STORE_CALL_MS,
      () => false,
    )
    if (hasSettled) await released
  }

  function grantedTooLate(): StoreError {
    return new StoreError(
      'store_unavailable',
      `The store granted the run after its lease of ${leaseMs / 1000} s (leaseSeconds) had ended, so another delivery may run: the store is slow, or the event loop was blocked.`,
    )
  }

  return { run, keep, check: typeof store.check === 'function' ? () => store.check?.() : undefined }
}

/** Runs an event that is not deduplicated. */
export function runUnprotected<End extends WorkEnd>(
  { failure }: GuardedDelivery,
  work: Work<End>,
): MaybePromise<End | Denial> {
  if (failure === undefined) return work(UNPROTECTED)
  return runKeeping(failure, true, work, (keeping) => keeping(UNPROTECTED))
}

/** An invalid or unreadable result is no evidence of the store's state. */
function mayBeGranted(result: unknown): 'yes' | 'no' | 'maybe' {
  try {
    const known = readClaimResult(result)
    return known === undefined ? 'maybe' : known.status === 'claimed' ? 'yes' : 'no'
  } catch {
    return 'maybe'
  }
}
