import { STOPPED_MS, STORE_CALL_MS } from '../durations.js'
import { StoreError } from '../errors.js'
import { isPromise, type MaybePromise } from '../lib/maybe-promise.js'
import type { Alarm } from '../lib/time/alarm-clock.js'
import { type Grant, type GuardedDelivery, isDone, type Work, type WorkEnd } from './guard.js'
import type { IdempotencyStore, Lease } from './store.js'
import { callAgain, callLater, callStore, readBoolean, resultOf, type StoreCall } from './store-call.js'

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
  /** Whether it is asking the store about the lease a second time, because the process was stopped during the first call. */
  private isAskingAgain = false
  private renewal: Promise<void> | undefined
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
  run<End extends WorkEnd>(work: Work<End>): MaybePromise<End> {
    const end = work(this)
    if (!isPromise(end)) return this.end(end)
    this.renewAt(this.claimedAtMs + this.terms.leaseMs / 3)
    return end.then((settled) => this.end(settled))
  }

  unconfirmedError(): undefined {
    return undefined
  }

  /** Stops renewing: the lease then expires by itself. */
  abandon(): void {
    this.isHeld = false
    this.delivery.clock.clear(this.renewing)
  }

  /**
   * Records the end, however late. A failure to record changes nothing: once a handler has returned, a non-2xx would make a second run
   * certain.
   */
  end<End extends WorkEnd>(end: End): MaybePromise<End> {
    this.abandon()
    return this.renewal === undefined ? this.record(end) : this.renewal.then(() => this.record(end))
  }

  private record<End extends WorkEnd>(end: End): MaybePromise<End> {
    try {
      const sent = this.sendEnd(end)
      // Synchronously, as a store in memory answers.
      return sent === true ? end : this.recordLater(end, Promise.resolve(sent))
    } catch (error) {
      return this.recordLater(end, Promise.reject(error))
    }
  }

  private async recordLater<End extends WorkEnd>(end: End, sent: Promise<unknown>): Promise<End> {
    const { clock } = this.delivery
    const call: StoreCall<boolean> = {
      method: isDone(end) ? 'complete' : 'release',
      send: () => this.sendEnd(end),
      read: readBoolean,
      clock,
    }
    try {
      this.recorded(end, await resultOf(call, sent).catch((error) => callAgain(call, error)))
    } catch (error) {
      // The sender does not wait for it.
      const late = callLater(call, error)
      this.delivery.track(
        late.then(
          (isOurs) => this.recorded(end, isOurs),
          (cause) => this.delivery.report(notRecorded(this.lease, isDone(end), cause.message, cause)),
        ),
      )
    }
    return end
  }

  private sendEnd(end: WorkEnd): unknown {
    const { store, lease } = this
    return isDone(end) ? store.complete(lease, this.terms.retainMs) : store.release(lease)
  }

  private recorded(end: WorkEnd, isOurs: boolean): void {
    if (isDone(end) && !isOurs) this.delivery.report(notRecorded(this.lease, true, CLAIMED_SINCE))
  }

  private renewAt(atMs: number): void {
    const startRenewal = (): void => {
      this.renewal = this.renew().then((nextAtMs) => {
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
        this.abandon()
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
