import { RETRY_SECONDS, STORE_CALL_MS } from '../durations.js'
import { StoreError } from '../errors.js'
import { isPromise, isThenable, type MaybePromise } from '../lib/promises.js'
import {
  type Denial,
  DUPLICATE,
  type Guard,
  type GuardedDelivery,
  keepFailure,
  termsFor,
  tokenSource,
  UNPROTECTED,
  type Work,
  type WorkEnd,
} from './guard.js'
import { HeldLease } from './held-lease.js'
import { type ClaimRequest, type ClaimResult, type IdempotencyStore, isLedger } from './store.js'
import {
  callAgain,
  callLater,
  promised,
  readBoolean,
  readClaimResult,
  resultOf,
  validated,
} from './store-call.js'

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

/** Guards with leases on an idempotency store. */
export function leaseGuard(store: IdempotencyStore, terms: LeaseGuardTerms): Guard {
  const { leaseMs, retainMs, nextToken, doubtedKeys } = terms

  function run<End extends WorkEnd>(
    key: string | null,
    delivery: GuardedDelivery,
    work: Work<End>,
  ): MaybePromise<End | Denial> {
    if (key === null) return work(UNPROTECTED)
    const request: ClaimRequest = { key, token: nextToken(), leaseMs, retainMs, ...termsFor(store, delivery) }
    const claimedAtMs = delivery.clock.nowMs
    const claimed = claim(request, delivery)
    return isPromise(claimed)
      ? claimed.then((result) => runIfClaimed(result, request, claimedAtMs, delivery, work))
      : runIfClaimed(claimed, request, claimedAtMs, delivery, work)
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
  function runIfClaimed<End extends WorkEnd>(
    result: ClaimResult,
    { key, token }: ClaimRequest,
    claimedAtMs: number,
    delivery: GuardedDelivery,
    work: Work<End>,
  ): MaybePromise<End | Denial> {
    if (result.status === 'claimed') {
      const held = new HeldLease(store, { key, token }, result.attempt, claimedAtMs, terms, delivery)
      if (delivery.clock.nowMs < claimedAtMs + leaseMs) return held.run(work)
      const error = grantedTooLate()
      delivery.track(Promise.resolve(held.end({ outcome: 'unavailable', error })))
      throw error
    }
    if (result.status === 'completed') return DUPLICATE
    if (result.status === 'parked') {
      // Only a ledger has a replay for what is parked.
      return isLedger(store) ? result : validated<Denial>('claim', result, () => undefined)
    }
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
    // Undefined if that is not known: an invalid or unreadable result is no evidence of the store's state.
    const reading = sent.then(readClaimResult).then((result) => result && result.status === 'claimed')
    const granted = reading.catch(() => undefined)
    const released = granted.then(async (isGranted) => {
      if (isGranted === false) {
        doubtedKeys.delete(key)
        return
      }
      // Retried, because the fault that lost the reply may lose this call too.
      const soon = resultOf(call, promised(send)).catch((error) => callAgain(call, error))
      // A store that granted it is up again; one that is down may never have received it.
      const late = soon.catch((error) => (isGranted === true ? callLater(call, error) : false))
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

  return {
    run,
    keep: (delivery, end) => keepFailure(store, delivery, end, retainMs),
    check: typeof store.check === 'function' ? () => store.check?.() : undefined,
  }
}
