import { STOPPED_MS, STORE_CALL_MS } from '../durations.js'
import { StoreError } from '../errors.js'
import { messageOf } from '../lib/errors/read-error.js'
import { shownMessageOf } from '../lib/errors/redact-error.js'
import { isPromise, isThenable, type MaybePromise, whenSettled } from '../lib/promises.js'
import type { Alarm } from '../lib/time/alarm-clock.js'
import type { FailedDelivery } from './failure.js'
import {
  type Denial,
  type Grant,
  type GuardedDelivery,
  isDone,
  notKept,
  parkedBy,
  type Work,
  type WorkEnd,
} from './guard.js'
import { type IdempotencyStore, isLedger, type KeepResult, type Lease, type LedgerStore } from './store.js'
import {
  callAgain,
  callLater,
  callStore,
  readBoolean,
  readKeepResult,
  resultOf,
  type StoreCall,
} from './store-call.js'

const GONE =
  'the store lost its record before the lease had run out: it was evicted, or the store was flushed, restarted empty, failed over, or had its clock set forward'
const GONE_OR_TAKEN =
  'it ran out before it was renewed, and either another delivery has taken over the event or the store has lost the record; perhaps the event loop was blocked for long, or leaseSeconds is too short'
const UNREACHABLE = 'it ran out while the store could not be reached'
const CLAIMED_SINCE =
  'Another delivery has claimed it since, because its lease had run out or the store had lost the record, and may have run it a second time.'

/**
 * A granted lease. While the handler runs, it is renewed every third of its duration. If it expires by our clock, a last renewal decides:
 * it may not have been taken over. A lease makes one store call at a time: recording the end waits for a renewal in progress, at most for
 * the limit of a store call.
 */
export class HeldLease implements Grant {
  readonly deduplicated = true
  readonly tx = undefined
  private isHeld = true
  private isLost = false
  /** Whether the handler has settled. */
  private isOver = false
  /** Whether it is asking the store about the lease a second time, because the process was stopped during the first call. */
  private isAskingAgain = false
  /** A call that is under way: a lease makes one at a time. */
  private busy: Promise<void> | undefined
  private renewing: Alarm | undefined
  /** The end of the lease by our clock: the store counts from the arrival of the request, so never from before it was sent. */
  private validUntilMs: number

  /** @param claimedAtMs when the claim was sent, on the monotonic clock */
  constructor(
    private readonly store: IdempotencyStore,
    private readonly lease: Lease,
    readonly attempt: number,
    private readonly claimedAtMs: number,
    private readonly terms: { readonly leaseMs: number; readonly retainMs: number },
    private readonly delivery: GuardedDelivery,
  ) {
    this.validUntilMs = claimedAtMs + terms.leaseMs
  }

  /** Calls the work, renews the lease while it runs, and records its end. */
  run<End extends WorkEnd>(work: Work<End>): MaybePromise<End | Denial> {
    const end = work(this)
    if (!isPromise(end)) return this.end(end)
    this.renewAt(this.claimedAtMs + this.terms.leaseMs / 3)
    return end.then((settled) => this.end(settled))
  }

  unconfirmedError(): undefined {
    return undefined
  }

  /** Without a failure to keep, the lease expires by itself. The handler may still end: then that is recorded after this. */
  giveUp(end: WorkEnd): void {
    this.stopRenewing()
    if (!isLedger(this.store)) return
    const kept = Promise.resolve(this.busy).then(() => this.recordFailure(end, () => end))
    this.delivery.track(kept)
    this.busy = kept.then(() => {})
  }

  /**
   * Records the end, however late, and stops renewing. A failure to record changes nothing: once a handler has returned, a non-2xx would make a
   * second run certain.
   */
  end<End extends WorkEnd>(end: End): MaybePromise<End | Denial> {
    this.stopRenewing()
    this.isOver = true
    return this.busy === undefined ? this.record(end) : this.busy.then(() => this.record(end))
  }

  private stopRenewing(): void {
    this.isHeld = false
    this.delivery.clock.clear(this.renewing)
  }

  private record<End extends WorkEnd>(end: End): MaybePromise<End | Denial> {
    const recordPlainly = (): MaybePromise<End | Denial> => this.recordAs(end, this.plainCall(end))
    return isDone(end) || !isLedger(this.store) ? recordPlainly() : this.recordFailure(end, recordPlainly)
  }

  /** @param otherwise called if nothing is kept of the end */
  private recordFailure<End extends WorkEnd>(
    end: End,
    otherwise: () => MaybePromise<End | Denial>,
  ): MaybePromise<End | Denial> {
    const failed = this.delivery.failureOf(end, this.terms.retainMs)
    return whenSettled(failed, (one) =>
      one === undefined
        ? otherwise()
        : this.recordAs(end, this.failingCall(this.store as LedgerStore, one, end)),
    )
  }

  /** The call that records an end without keeping a failure. */
  private plainCall<End extends WorkEnd>(end: End): EndCall<End> {
    const { store, lease, terms, delivery } = this
    const isFinal = isDone(end)
    const reason = end.outcome === 'discarded' && isLedger(store) ? shownMessageOf(end.error) : undefined
    const send = (): unknown =>
      !isFinal
        ? store.release(lease)
        : reason === undefined
          ? store.complete(lease, terms.retainMs)
          : store.complete(lease, terms.retainMs, { reason })
    return {
      method: isFinal ? 'complete' : 'release',
      send,
      read: readBoolean,
      answer: (isOurs) => {
        if (isFinal && isOurs === false) delivery.report(notRecorded(lease, true, CLAIMED_SINCE))
        return end
      },
      lost: (cause) => notRecorded(lease, isFinal, messageOf(cause), cause),
    }
  }

  /** Another delivery may run the event by now: then its end decides. */
  private failingCall<End extends WorkEnd>(
    store: LedgerStore,
    failed: FailedDelivery,
    end: End,
  ): EndCall<End> {
    const { lease, delivery } = this
    return {
      method: 'fail',
      send: () => store.fail(lease, failed),
      read: readKeepResult,
      answer: (kept) => (kept === 'parked' && delivery.replay === undefined ? parkedBy(end) : end),
      lost: (cause) => notKept(failed, cause),
    }
  }

  /** Synchronously, as a store in memory answers. */
  private recordAs<End extends WorkEnd>(end: End, call: EndCall<End>): MaybePromise<End | Denial> {
    let sent: Promise<unknown>
    try {
      const returned = call.send()
      const known = isThenable(returned) ? undefined : call.read(returned)
      if (known !== undefined) return call.answer(known)
      // Of foreign code: that may throw too.
      sent = Promise.resolve(returned)
    } catch (error) {
      sent = Promise.reject(error)
    }
    return this.recordLater(end, call, sent)
  }

  private async recordLater<End extends WorkEnd>(
    end: End,
    { answer, lost, ...given }: EndCall<End>,
    sent: Promise<unknown>,
  ): Promise<End | Denial> {
    const { clock } = this.delivery
    const call: StoreCall<boolean | KeepResult> = { ...given, clock }
    // Many that fail together must not hold up those that do not; a handler that was given up may still work.
    if (call.method === 'fail' && this.isOver) this.delivery.vacate(Promise.resolve())
    try {
      return answer(await resultOf(call, sent).catch((error) => callAgain(call, error)))
    } catch (error) {
      // The sender does not wait for it.
      const late = callLater(call, error)
      this.delivery.track(late.then(answer, (cause) => this.delivery.report(lost(cause))))
      return end
    }
  }

  private renewAt(atMs: number): void {
    const startRenewal = (): void => {
      this.busy = this.renew().then((nextAtMs) => {
        if (this.isHeld) this.renewAt(nextAtMs)
      })
    }
    this.renewing = this.delivery.clock.set(startRenewal, atMs, true)
  }

  /** @returns the time of the next renewal */
  private async renew(): Promise<number> {
    const { store, lease, delivery } = this
    const { leaseMs } = this.terms
    const { clock } = delivery
    const send = (): unknown => store.renew(lease, leaseMs)
    const sentAtMs = clock.nowMs
    try {
      if (await callStore({ method: 'renew', send, read: readBoolean, clock })) {
        this.validUntilMs = sentAtMs + leaseMs
        this.isAskingAgain = false
      } else {
        this.stopRenewing()
        this.lose(clock.nowMs < this.validUntilMs ? GONE : GONE_OR_TAKEN)
      }
    } catch (error) {
      const failedAtMs = clock.nowMs
      const hasRunOut = failedAtMs >= this.validUntilMs
      const wasStopped = failedAtMs - sentAtMs > STORE_CALL_MS + STOPPED_MS
      if (hasRunOut && wasStopped && !this.isAskingAgain) {
        this.isAskingAgain = true
        return failedAtMs
      }
      delivery.report(error)
      if (hasRunOut) this.lose(UNREACHABLE)
    }
    const { nowMs } = clock
    const nextAtMs = nowMs + leaseMs / 3
    return this.validUntilMs > nowMs ? Math.min(nextAtMs, this.validUntilMs) : nextAtMs
  }

  private lose(why: string): void {
    if (this.isLost) return
    this.isLost = true
    const error = new StoreError(
      'lease_lost',
      `The lease of ${this.lease.key} was lost while its handler was running, so the event may run twice: ${why}.`,
    )
    this.delivery.abort(error)
    this.delivery.report(error)
  }
}

/** A call that records an end, and the answer to the sender. */
interface EndCall<End extends WorkEnd> extends Omit<StoreCall<boolean | KeepResult>, 'clock'> {
  answer(recorded: boolean | KeepResult): End | Denial
  /** The error if it could not be recorded. */
  lost(cause: unknown): StoreError
}

function notRecorded({ key }: Lease, wasDone: boolean, why: string, cause?: unknown): StoreError {
  const options = cause === undefined ? {} : { cause }
  return wasDone
    ? new StoreError(
        'not_recorded',
        `${key} was handled, but that could not be recorded, so it may run again: ${why}`,
        options,
      )
    : new StoreError(
        'not_released',
        `${key} failed and could not be released, so it runs again when its lease has run out: ${why}`,
        options,
      )
}
