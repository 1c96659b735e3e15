import { SETTLING_MS } from '../durations.js'
import type { MaybePromise } from '../lib/promises.js'
import type { AlarmClock } from '../lib/time/alarm-clock.js'
import { monotonicMs } from '../lib/time/clock.js'

/** How many runs there may be at the same time. */
export interface SlotLimits {
  readonly runs: number
  /** Of one account. Those without an account have no such limit. */
  readonly perAccount: number
}

/** The one of the limits that refused a delivery. */
export type ReachedLimit = keyof SlotLimits

/** Where a delivery arrives. Several endpoints may share the slots of a pool, and an account may use several of them. */
interface Sender {
  readonly namespace: string
  readonly account: string | undefined
}

/** The times of a delivery. */
interface Times {
  readonly timeoutMs: number
  readonly maxRunMs: number
}

/** A delivery that wants a slot. */
interface SlotRequest {
  /** Its account, or the endpoint if it has none: deliveries of the same one wait in one queue. */
  readonly queue: string
  /** The most runs of its queue. */
  readonly most: number
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
   * @returns the limit that was reached, if none was free in time
   */
  take(
    { namespace, account }: Sender,
    clock: AlarmClock,
    { timeoutMs, maxRunMs }: Times,
  ): MaybePromise<RunSlot | ReachedLimit> {
    const request: SlotRequest = {
      // No name has a slash.
      queue: account ?? `/${namespace}`,
      most: account === undefined ? Number.POSITIVE_INFINITY : this.limits.perAccount,
      overAtMs: clock.deadlineMs + maxRunMs + SETTLING_MS,
    }
    const byMs = clock.deadlineMs - timeoutMs / 2
    const { nowMs } = clock
    if (this.reachedBy(request) !== undefined) this.freeOverdue(nowMs)
    const reached = this.reachedBy(request)
    if (reached === undefined) return this.grant(request)
    return nowMs < byMs ? this.wait(request, clock, byMs) : reached
  }

  private wait(request: SlotRequest, clock: AlarmClock, byMs: number): Promise<RunSlot | ReachedLimit> {
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
        resolve(this.reachedBy(request) ?? 'runs')
      }, byMs)
      const queue = this.waiting.get(request.queue)
      if (queue === undefined) this.waiting.set(request.queue, new Set([waiter]))
      else queue.add(waiter)
    })
  }

  /** The account's own limit first: others may have the rest of the runs, and would not be to blame. */
  private reachedBy({ queue, most }: SlotRequest): ReachedLimit | undefined {
    const { runs } = this.limits
    if (most < runs) {
      let own = 0
      for (const slot of this.taken) if (slot.request.queue === queue) own += 1
      if (own >= most) return 'perAccount'
    }
    return this.taken.size >= runs ? 'runs' : undefined
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
    for (const [name, queue] of this.waiting) {
      for (const next of queue) {
        if (this.reachedBy(next.request) !== undefined) break
        this.forget(next)
        // Its alarm is late because the event loop was blocked, or lost together with the request of a Worker.
        if (next.byMs <= nowMs) continue
        // To the end of the turn.
        if (this.waiting.delete(name)) this.waiting.set(name, queue)
        next.grant(this.grant(next.request))
        return
      }
    }
  }

  private forget(waiter: Waiter): void {
    const { queue: name } = waiter.request
    const queue = this.waiting.get(name)
    queue?.delete(waiter)
    if (queue?.size === 0) this.waiting.delete(name)
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
