import { SETTLING_MS } from '../../durations.js'
import type { MaybePromise } from '../../lib/maybe-promise.js'
import type { AlarmClock } from '../../lib/time/alarm-clock.js'
import { monotonicMs } from '../../lib/time/timers.js'

/** How many runs there may be at the same time. */
export interface SlotLimits {
  readonly runs: number
  /** Of one account. */
  readonly perAccount: number
}

/** The times of a delivery. */
interface Times {
  readonly timeoutMs: number
  readonly maxRunMs: number
}

/** A delivery that wants a slot. */
interface SlotRequest {
  /** Deliveries of the same one wait in one queue: it names the account, and the endpoint, because several may share a pool's slots. */
  readonly account: string
  /** By when its run is over, whatever happens: after that its slot is free, so that none is lost for good. */
  readonly overAtMs: number
}

interface Waiter {
  readonly request: SlotRequest
  /** Until then it waits. */
  readonly byMs: number
  readonly grant: (slot: RunSlot) => void
}

/**
 * The slots of runs. A delivery that finds none free waits: within an account first come, first served; among accounts in turn, so that one with many
 * deliveries does not hold up the others.
 */
export class RunSlots {
  private readonly taken = new Set<RunSlot>()
  private readonly waiting = new Map<string, Set<Waiter>>()

  constructor(readonly limits: SlotLimits) {}

  /**
   * Takes a slot: at once if one is free, so that the result is no promise. It waits for half of the delivery's time at most.
   *
   * @returns `undefined` if none was free in time
   */
  take(
    account: string,
    clock: AlarmClock,
    { timeoutMs, maxRunMs }: Times,
  ): MaybePromise<RunSlot | undefined> {
    const request: SlotRequest = { account, overAtMs: clock.deadlineMs + maxRunMs + SETTLING_MS }
    const byMs = clock.deadlineMs - timeoutMs / 2
    const { nowMs } = clock
    if (!this.isFreeFor(account)) this.freeOverdue(nowMs)
    if (this.isFreeFor(account)) return this.grant(request)
    return nowMs < byMs ? this.wait(request, clock, byMs) : undefined
  }

  private wait(request: SlotRequest, clock: AlarmClock, byMs: number): Promise<RunSlot | undefined> {
    return new Promise((resolve) => {
      const waiter: Waiter = {
        request,
        byMs,
        grant(slot) {
          clock.clear(alarm)
          resolve(slot)
        },
      }
      const alarm = clock.set(() => {
        this.forget(waiter)
        resolve(undefined)
      }, byMs)
      const queue = this.waiting.get(request.account)
      if (queue === undefined) this.waiting.set(request.account, new Set([waiter]))
      else queue.add(waiter)
    })
  }

  private isFreeFor(account: string): boolean {
    const { runs, perAccount } = this.limits
    if (this.taken.size >= runs) return false
    if (perAccount >= runs) return true
    let own = 0
    for (const slot of this.taken) if (slot.request.account === account) own += 1
    return own < perAccount
  }

  private grant(request: SlotRequest): RunSlot {
    const slot = new RunSlot(request, () => {
      if (this.taken.delete(slot)) this.grantNext()
    })
    this.taken.add(slot)
    return slot
  }

  private grantNext(): void {
    const nowMs = monotonicMs()
    for (const [account, queue] of this.waiting) {
      if (!this.isFreeFor(account)) continue
      for (const next of queue) {
        this.forget(next)
        // Its alarm is late because the event loop was blocked, or lost together with the request of a Worker.
        if (next.byMs <= nowMs) continue
        // To the end of the turn.
        if (this.waiting.delete(account)) this.waiting.set(account, queue)
        next.grant(this.grant(next.request))
        return
      }
    }
  }

  private forget(waiter: Waiter): void {
    const { account } = waiter.request
    const queue = this.waiting.get(account)
    queue?.delete(waiter)
    if (queue?.size === 0) this.waiting.delete(account)
  }

  private freeOverdue(nowMs: number): void {
    for (const slot of this.taken) if (slot.request.overAtMs <= nowMs) slot.free()
  }
}

/** The slot of a delivery, until all that it is kept for has settled. */
export class RunSlot {
  private holders = 0

  constructor(
    readonly request: SlotRequest,
    /** Frees it at once. */
    readonly free: () => void,
  ) {}

  keepUntil(work: Promise<unknown>): void {
    this.holders += 1
    const leave = (): void => {
      this.holders -= 1
      if (this.holders === 0) this.free()
    }
    work.then(leave, leave)
  }

  /** Frees it when this work has settled, whatever else it is kept for. */
  freeAfter(work: Promise<unknown>): void {
    work.then(this.free, this.free)
  }
}
