import type { FailedDelivery, Failure, FailureGroup, FailureState, Failures } from 'tix-webhooks'
import {
  type CheckedFilter,
  checkFailureFilter,
  checkFailureLimit,
  checkFailureQuery,
  type Position,
} from '../../../src/internal.js'

const RETENTION_MS = 30 * 24 * 3_600_000

/** How often and how long an event has failed. */
export interface FailingFacts {
  readonly attempts: number
  readonly ms: number
  readonly limits: NonNullable<FailedDelivery['parkAfter']>
}

/** Failures that are right, cut into the decisions that they make, so that a test can get each of them wrong. */
export class PlainFailures implements Failures {
  readonly kept = new Map<string, Failure>()

  async keep(failed: FailedDelivery): Promise<FailureState> {
    const failure = this.next(this.kept.get(this.keyOf(failed.key)), failed)
    this.kept.set(this.keyOf(failed.key), failure)
    return failure.state
  }

  async get(key: string): Promise<Failure | undefined> {
    const failure = this.kept.get(this.keyOf(key))
    return failure && this.returned(failure)
  }

  async delete(key: string): Promise<boolean> {
    return this.kept.delete(this.keyOf(key))
  }

  async list(query?: object): Promise<readonly Failure[]> {
    const { filter, order, before, after, limit } = checkFailureQuery(query)
    const found = [...this.kept.values()]
      .filter((one) => this.matches(one, filter))
      .filter((one) => before === undefined || this.isBelow(positionOf(one), before))
      .filter((one) => after === undefined || this.isAbove(positionOf(one), after))
      .sort((a, b) => this.compare(a, b))
    if (order === 'newest') found.reverse()
    return found.slice(0, limit).map((one) => this.returned(one))
  }

  async groups({ limit, ...filter }: { limit?: number } = {}): Promise<readonly FailureGroup[]> {
    const most = checkFailureLimit(limit)
    const checked = checkFailureFilter(filter)
    const groups = new Map<string, Failure[]>()
    for (const one of this.kept.values()) {
      if (this.matches(one, checked)) groups.set(one.group, [...(groups.get(one.group) ?? []), one])
    }
    return [...groups.values()]
      .map((all) => this.grouped(all))
      .sort((a, b) => b.lastAt.getTime() - a.lastAt.getTime())
      .slice(0, most)
  }

  async count(filter?: object): Promise<number> {
    const checked = checkFailureFilter(filter)
    return [...this.kept.values()].filter((one) => this.matches(one, checked)).length
  }

  async purge({ limit }: { limit: number }): Promise<number> {
    const old = [...this.kept.values()].filter((one) => this.isOld(one)).sort((a, b) => this.compare(a, b))
    for (const { key } of old.slice(0, limit)) this.kept.delete(key)
    return Math.min(old.length, limit)
  }

  keyOf(key: string): string {
    return key
  }

  /** The failure after one more attempt. */
  next(known: Failure | undefined, failed: FailedDelivery): Failure {
    const { failedAt, isReplay, parkAfter = {}, ...rest } = failed
    const attempts = (known?.attempts ?? 0) + 1
    const firstAt = known?.firstAt ?? failedAt
    const lastAt = this.lastAt(known, failedAt)
    const facts = { attempts, ms: lastAt.getTime() - firstAt.getTime(), limits: parkAfter }
    const lastReplayedAt = isReplay ? failedAt : known?.lastReplayedAt
    return {
      ...rest,
      rawBody: this.stored(rest.rawBody),
      state: this.isParked(known, facts) ? 'parked' : 'failing',
      firstAt,
      lastAt,
      attempts,
      replays: (known?.replays ?? 0) + (isReplay ? 1 : 0),
      ...(lastReplayedAt && { lastReplayedAt }),
    }
  }

  lastAt(known: Failure | undefined, failedAt: Date): Date {
    return known !== undefined && known.lastAt > failedAt ? known.lastAt : failedAt
  }

  isParked(known: Failure | undefined, { attempts, ms, limits }: FailingFacts): boolean {
    return (
      known?.state === 'parked' ||
      attempts >= (limits.attempts ?? Number.POSITIVE_INFINITY) ||
      ms >= (limits.ms ?? Number.POSITIVE_INFINITY)
    )
  }

  stored(rawBody: Uint8Array): Uint8Array {
    return new Uint8Array(rawBody)
  }

  returned(failure: Failure): Failure {
    return { ...failure, rawBody: new Uint8Array(failure.rawBody) }
  }

  matches(failure: Failure, filter: CheckedFilter): boolean {
    return Object.entries(filter).every(([name, value]) => failure[name as keyof CheckedFilter] === value)
  }

  /** Oldest first. */
  compare(a: Failure, b: Failure): number {
    return comparePositions(positionOf(a), positionOf(b))
  }

  isBelow(position: Position, bound: Position): boolean {
    return comparePositions(position, bound) < 0
  }

  isAbove(position: Position, bound: Position): boolean {
    return comparePositions(position, bound) > 0
  }

  grouped(all: readonly Failure[]): FailureGroup {
    const sorted = [...all].sort((a, b) => this.compare(a, b))
    const { group, lastAt, kind, code, message } = sorted.at(-1) as Failure
    const firstAt = new Date(Math.min(...all.map((one) => one.firstAt.getTime())))
    return { group, count: all.length, firstAt, lastAt, kind, code, message }
  }

  isOld({ lastAt }: Failure): boolean {
    return lastAt.getTime() < Date.now() - RETENTION_MS
  }
}

function positionOf({ lastAt, key }: Failure): Position {
  return { atMs: lastAt.getTime(), key }
}

function comparePositions(a: Position, b: Position): number {
  return a.atMs - b.atMs || (a.key < b.key ? -1 : Number(a.key > b.key))
}
