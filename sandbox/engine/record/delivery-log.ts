import { isParked } from '../../lib/outcome-of.js'
import type { Timer } from '../../time/timer-queue.js'
import { type DeliveryFilter, hasStatus, matchesFilter } from './delivery-filter.js'
import { FORGOTTEN_STATUSES, type Forgotten, ForgottenCounter } from './forgotten.js'
import { LIMITS } from './limits.js'
import { NewestFirst } from './newest-first.js'
import {
  type Attempt,
  type Delivery,
  type DeliveryStatus,
  isParkedDelivery,
  isScenario,
  isSettled,
  noDeliveries,
} from './records.js'
import { Ring } from './ring.js'

/** A delivery, and what the engine alone needs to know of it. */
export interface Tracked {
  /** The current version; immutable, and replaced by each change. */
  readonly delivery: Delivery
  /** The seed of its jitter. */
  readonly seed: number
  /** How many attempts have begun. */
  begun: number
  /** The timer of the next attempt. */
  timer?: Timer | undefined
}

interface Entry extends Tracked {
  delivery: Delivery
}

/** How many deliveries a filter finds, whatever its limit. */
export interface Tally {
  readonly matching: number
  /** How many of these are genuine: no scenario sent them. */
  readonly genuine: number
  /** The genuine deliveries that are no longer kept and may have matched: only their status is known. */
  readonly forgotten: number
  /** All genuine deliveries that are parked, whatever the filter's status, including those no longer kept. */
  readonly parked: number
}

interface Changes {
  status?: DeliveryStatus
  reason?: string | undefined
  nextAtMs?: number | undefined
}

/** The ids of an attempt, which keep nothing in memory. */
interface AttemptKey {
  readonly deliveryId: string
  readonly attemptId: string
}

/** The deliveries, within bounds. Every change takes constant time; only lists and tallies walk through them. */
export class DeliveryLog {
  readonly #entries = new NewestFirst<Entry>()
  readonly #counts = noDeliveries()
  readonly #settled = new Ring<string>(LIMITS.settled)
  readonly #attempts = new Ring<AttemptKey>(LIMITS.attempts)
  readonly #bodies = new Ring<AttemptKey>(LIMITS.bodies)
  readonly #forgotten = new ForgottenCounter()

  get(id: string): Tracked | undefined {
    return this.#entries.get(id)
  }

  /** Whether it is still here, and not another one of the same id that was restored. */
  has(tracked: Tracked): boolean {
    return this.#entries.get(tracked.delivery.id) === tracked
  }

  /** How many there are of each status. */
  get counts(): Readonly<Record<DeliveryStatus, number>> {
    return { ...this.#counts }
  }

  /** How many there have been of each status, those that are no longer kept included. */
  get totals(): Readonly<Record<DeliveryStatus, number>> {
    const totals = this.counts as Record<DeliveryStatus, number>
    for (const status of FORGOTTEN_STATUSES) totals[status] += this.#forgotten.counts[status]
    return totals
  }

  /** How many of the delivered ones are parked, those that are no longer kept included. */
  get parked(): number {
    let { parked } = this.#forgotten.counts
    for (const { delivery } of this) if (isParkedDelivery(delivery)) parked += 1
    return parked
  }

  get forgotten(): Forgotten {
    return this.#forgotten.counts
  }

  /** Whether no more can be on their way. */
  get isFull(): boolean {
    return this.#counts.pending + this.#counts.retrying >= LIMITS.unsettled
  }

  add(delivery: Delivery, seed: number): Tracked {
    const entry = this.#insert(delivery, seed, 0)
    if (isSettled(delivery)) this.#markSettled(entry)
    return entry
  }

  /** Changes the given fields; those given as undefined are removed. */
  change(tracked: Tracked, changes: Changes): Delivery {
    const entry = this.#entryOf(tracked)
    const before = entry.delivery
    const { reason, nextAtMs, ...rest } = { ...before, ...changes }
    entry.delivery = {
      ...rest,
      ...(reason !== undefined && { reason }),
      ...(nextAtMs !== undefined && { nextAtMs }),
    }
    this.#counts[before.status] -= 1
    this.#counts[entry.delivery.status] += 1
    if (isSettled(entry.delivery) && !isSettled(before)) this.#markSettled(entry)
    return entry.delivery
  }

  addAttempt(tracked: Tracked, attempt: Attempt): void {
    const entry = this.#entryOf(tracked)
    const attempts = [...entry.delivery.attempts, attempt].sort((a, b) => a.number - b.number)
    entry.delivery = { ...entry.delivery, attempts: attempts.slice(-LIMITS.attemptsOfOne) }
    this.#keep(entry.delivery.id, attempt)
  }

  /** The newest first. */
  [Symbol.iterator](): Iterator<Tracked> {
    return this.#entries[Symbol.iterator]()
  }

  tally({ status, ...filter }: Omit<DeliveryFilter, 'limit'> = {}): Tally {
    let matching = 0
    let genuine = 0
    let { parked } = this.#forgotten.counts
    for (const { delivery } of this) {
      if (!matchesFilter(delivery, filter)) continue
      if (isParkedDelivery(delivery)) parked += 1
      if (status !== undefined && !hasStatus(delivery, status)) continue
      matching += 1
      if (!isScenario(delivery)) genuine += 1
    }
    return { matching, genuine, forgotten: this.#forgotten.genuine(status), parked }
  }

  /** The ids of those that have come to their end, in that order. */
  settledIds(): readonly string[] {
    return this.#settled.toArray()
  }

  /** Replaces everything with saved deliveries, the oldest first. */
  load(
    saved: readonly Omit<Tracked, 'timer'>[],
    settledIds: readonly string[],
    forgotten?: Forgotten,
  ): readonly Tracked[] {
    this.clear()
    this.#forgotten.restart(forgotten)
    const loaded = saved.map(({ delivery, seed, begun }) => this.#insert(delivery, seed, begun))
    for (const { delivery } of loaded)
      for (const attempt of delivery.attempts) this.#keep(delivery.id, attempt)
    for (const id of settledIds) this.#settled.add(id)
    return loaded
  }

  clear(): void {
    for (const { timer } of this) timer?.cancel()
    this.#entries.clear()
    for (const latest of [this.#settled, this.#attempts, this.#bodies]) latest.clear()
    Object.assign(this.#counts, noDeliveries())
    this.#forgotten.restart()
  }

  #insert(delivery: Delivery, seed: number, begun: number): Entry {
    const entry: Entry = { delivery, seed, begun }
    this.#entries.add(delivery.id, entry)
    this.#counts[delivery.status] += 1
    return entry
  }

  #markSettled({ delivery }: Entry): void {
    const evicted = this.#entries.get(this.#settled.add(delivery.id) ?? '')
    if (evicted !== undefined) this.#forget(evicted)
  }

  /** Drops a delivery but counts it: a failure must not disappear unseen. */
  #forget({ delivery }: Entry): void {
    this.#entries.delete(delivery.id)
    this.#counts[delivery.status] -= 1
    this.#forgotten.add(delivery)
  }

  /** Drops the oldest attempt and the oldest body if there are too many. */
  #keep(deliveryId: string, { id: attemptId, response, sentBody }: Attempt): void {
    const key = { deliveryId, attemptId }
    this.#alter(this.#attempts.add(key), () => [])
    if (response?.body || sentBody !== undefined) {
      this.#alter(this.#bodies.add(key), (attempt) => [withoutBodies(attempt)])
    }
  }

  #alter(key: AttemptKey | undefined, alter: (attempt: Attempt) => readonly Attempt[]): void {
    const entry = key && this.#entries.get(key.deliveryId)
    if (key === undefined || entry === undefined) return
    const attempts = entry.delivery.attempts.flatMap((attempt) =>
      attempt.id === key.attemptId ? alter(attempt) : [attempt],
    )
    entry.delivery = { ...entry.delivery, attempts }
  }

  #entryOf(tracked: Tracked): Entry {
    const entry = this.#entries.get(tracked.delivery.id)
    if (entry === undefined || entry !== tracked) throw new Error('That delivery is not in the log any more.')
    return entry
  }
}

function withoutBodies({ response, ...attempt }: Attempt): Attempt {
  const rest = attempt.sentBody === undefined ? attempt : { ...attempt, sentBody: '', inexact: true as const }
  if (response === undefined) return rest
  // It is short, and alone says that an event is not handled.
  return { ...rest, response: isParked(response) ? response : { ...response, body: '', truncated: true } }
}
