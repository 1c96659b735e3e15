import { SETTLING_MS } from '../../durations.js'
import type { MaybePromise } from '../../lib/maybe-promise.js'
import type { AlarmClock } from '../../lib/time/alarm-clock.js'
import { monotonicMs } from '../../lib/time/timers.js'

/** How many runs there may be at the same time. */
export interface PlaceLimits {
  readonly runs: number
  /** Of one account. */
  readonly perAccount: number
}

/** The times of a delivery. */
interface Times {
  readonly timeoutMs: number
  readonly maxRunMs: number
}

/** A delivery that wants a place. */
interface Guest {
  /** Deliveries of the same one wait in one queue: it names the account, and the endpoint, because several may share a pool's places. */
  readonly account: string
  /** By when its run is over, whatever happens: after that its place is free, so that none is lost for good. */
  readonly overAtMs: number
}

interface Waiter {
  readonly guest: Guest
  /** Until then it waits. */
  readonly byMs: number
  readonly seat: (place: Place) => void
}

/**
 * The places of runs. What finds none free waits: within an account first come, first served; among accounts in turn, so that one with many
 * deliveries does not hold up the others.
 */
export class Places {
  private readonly taken = new Set<Place>()
  private readonly waiting = new Map<string, Set<Waiter>>()

  constructor(readonly limits: PlaceLimits) {}

  /**
   * Takes a place: at once if one is free, so that the result is no promise. It waits for half of the delivery's time at most.
   *
   * @returns `undefined` if none was free in time
   */
  take(account: string, clock: AlarmClock, { timeoutMs, maxRunMs }: Times): MaybePromise<Place | undefined> {
    const guest: Guest = { account, overAtMs: clock.deadlineMs + maxRunMs + SETTLING_MS }
    const byMs = clock.deadlineMs - timeoutMs / 2
    const { nowMs } = clock
    if (!this.isFreeFor(account)) this.freeOverdue(nowMs)
    if (this.isFreeFor(account)) return this.seat(guest)
    return nowMs < byMs ? this.wait(guest, clock, byMs) : undefined
  }

  private wait(guest: Guest, clock: AlarmClock, byMs: number): Promise<Place | undefined> {
    return new Promise((resolve) => {
      const waiter: Waiter = {
        guest,
        byMs,
        seat(place) {
          clock.clear(alarm)
          resolve(place)
        },
      }
      const alarm = clock.set(() => {
        this.forget(waiter)
        resolve(undefined)
      }, byMs)
      const queue = this.waiting.get(guest.account)
      if (queue === undefined) this.waiting.set(guest.account, new Set([waiter]))
      else queue.add(waiter)
    })
  }

  private isFreeFor(account: string): boolean {
    const { runs, perAccount } = this.limits
    if (this.taken.size >= runs) return false
    if (perAccount >= runs) return true
    let own = 0
    for (const place of this.taken) if (place.guest.account === account) own += 1
    return own < perAccount
  }

  private seat(guest: Guest): Place {
    const place = new Place(guest, () => {
      if (this.taken.delete(place)) this.seatNext()
    })
    this.taken.add(place)
    return place
  }

  private seatNext(): void {
    const nowMs = monotonicMs()
    for (const [account, queue] of this.waiting) {
      if (!this.isFreeFor(account)) continue
      for (const next of queue) {
        this.forget(next)
        // Its alarm is late because the event loop was blocked, or lost together with the request of a Worker.
        if (next.byMs <= nowMs) continue
        // To the end of the turn.
        if (this.waiting.delete(account)) this.waiting.set(account, queue)
        next.seat(this.seat(next.guest))
        return
      }
    }
  }

  private forget(waiter: Waiter): void {
    const { account } = waiter.guest
    const queue = this.waiting.get(account)
    queue?.delete(waiter)
    if (queue?.size === 0) this.waiting.delete(account)
  }

  private freeOverdue(nowMs: number): void {
    for (const place of this.taken) if (place.guest.overAtMs <= nowMs) place.free()
  }
}

/** The place of a delivery, until all that it is kept for has settled. */
export class Place {
  private holders = 0

  constructor(
    readonly guest: Guest,
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
