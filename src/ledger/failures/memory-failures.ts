import { StoreError } from '../../errors.js'
import { checkedFor } from '../../lib/call-site.js'
import { checkKey } from '../../lib/check-key.js'
import { checkWholeNumber } from '../../lib/check-number.js'
import { checkOptionNames } from '../../lib/option-names.js'
import { checkedClock } from '../../lib/time/clock.js'
import type { FailedDelivery, Failure, FailureGroup, KeptFailures } from './failures.js'
import {
  type CheckedFilter,
  checkFailureFilter,
  checkFailureLimit,
  checkFailureQuery,
  checkFailureRetention,
  type Position,
} from './rules.js'

export interface MemoryFailuresOptions {
  /** The most failures it holds; when it is full, a further one is not kept, and that is reported. Default 1,000. */
  maxKeys?: number | undefined
  /** How long a failure is kept after its last attempt, in seconds. Default 2,592,000 (30 days); at least 262,800 (73 h). */
  retentionSeconds?: number | undefined
  /** Milliseconds since the epoch, for the retention. Default `Date.now`. */
  now?: (() => number) | undefined
}

/**
 * Keeps what was not handled in the memory of this process, and forgets it when the process ends: for tests and development.
 *
 * @throws TypeError when an option is invalid
 * @example
 * ```ts
 * const failures = memoryFailures()
 * tixWebhooks({ secret, on, failures, namespace: 'orders' })
 * const [latest] = await failures.list()
 * ```
 */
export function memoryFailures(options: MemoryFailuresOptions = {}): KeptFailures {
  return checkedFor(memoryFailures, () => createFailures(options))
}

function createFailures(options: MemoryFailuresOptions): KeptFailures {
  const given = checkOptionNames(options, ['maxKeys', 'retentionSeconds', 'now'])
  const maxKeys = checkWholeNumber('maxKeys', given.maxKeys ?? 1_000)
  const retentionMs = checkFailureRetention(given.retentionSeconds) * 1000
  const now = checkedClock(given.now)
  const kept = new Map<string, Failure>()

  /** The matching ones, oldest first. */
  function matching(filter: CheckedFilter): Failure[] {
    const conditions = Object.entries(filter) as [keyof CheckedFilter, string][]
    return [...kept.values()]
      .filter((failure) => conditions.every(([name, value]) => failure[name] === value))
      .sort((a, b) => compare(positionOf(a), positionOf(b)))
  }

  return {
    retentionSeconds: retentionMs / 1000,
    async keep(failed) {
      const known = kept.get(failed.key)
      if (known === undefined && kept.size >= maxKeys) throw full(maxKeys)
      const failure = failedAgain(known, failed)
      kept.set(failed.key, failure)
      return failure.state
    },
    async get(key) {
      checkKey(key)
      const known = kept.get(key)
      return known === undefined ? undefined : copyOf(known)
    },
    delete: async (key) => kept.delete(key),
    async list(query) {
      const { filter, order, before, after, limit } = checkFailureQuery(query)
      const found = matching(filter).filter((failure) => {
        const position = positionOf(failure)
        return (
          (before === undefined || compare(position, before) < 0) &&
          (after === undefined || compare(position, after) > 0)
        )
      })
      if (order === 'newest') found.reverse()
      return found.slice(0, limit).map(copyOf)
    },
    async groups({ limit, ...filter } = {}) {
      const most = checkFailureLimit(limit)
      const groups = new Map<string, FailureGroup>()
      for (const failure of matching(checkFailureFilter(filter))) {
        groups.set(failure.group, groupedWith(groups.get(failure.group), failure))
      }
      return [...groups.values()].sort((a, b) => b.lastAt.getTime() - a.lastAt.getTime()).slice(0, most)
    },
    count: async (filter) => matching(checkFailureFilter(filter)).length,
    async purge({ limit = 1_000 } = {}) {
      checkWholeNumber('limit', limit)
      const past = matching({})
        .filter(({ lastAt }) => lastAt.getTime() < now() - retentionMs)
        .slice(0, limit)
      for (const { key } of past) kept.delete(key)
      return past.length
    },
  }
}

function failedAgain(known: Failure | undefined, failed: FailedDelivery): Failure {
  const { failedAt, isReplay, parkAfter = {}, ...rest } = failed
  const attempts = (known?.attempts ?? 0) + 1
  const firstAt = known?.firstAt ?? failedAt
  const lastAt = later(known?.lastAt ?? failedAt, failedAt)
  const isParked =
    known?.state === 'parked' ||
    attempts >= (parkAfter.attempts ?? Number.POSITIVE_INFINITY) ||
    lastAt.getTime() - firstAt.getTime() >= (parkAfter.ms ?? Number.POSITIVE_INFINITY)
  const lastReplayedAt = isReplay ? failedAt : known?.lastReplayedAt
  return {
    ...rest,
    // A copy: the server of the app may use its buffer again.
    rawBody: new Uint8Array(rest.rawBody),
    state: isParked ? 'parked' : 'failing',
    firstAt,
    lastAt,
    attempts,
    replays: (known?.replays ?? 0) + (isReplay ? 1 : 0),
    ...(lastReplayedAt === undefined ? {} : { lastReplayedAt }),
  }
}

/** @param failure a later one than those of the group */
function groupedWith(group: FailureGroup | undefined, failure: Failure): FailureGroup {
  const { kind, code, message, lastAt } = failure
  return {
    group: failure.group,
    count: (group?.count ?? 0) + 1,
    firstAt: earlier(group?.firstAt ?? failure.firstAt, failure.firstAt),
    lastAt,
    kind,
    code,
    message,
  }
}

/** A copy: a failure must not change with the one that was returned. */
function copyOf(failure: Failure): Failure {
  return { ...failure, rawBody: new Uint8Array(failure.rawBody) }
}

function positionOf({ lastAt, key }: Failure): Position {
  return { atMs: lastAt.getTime(), key }
}

function compare(a: Position, b: Position): number {
  return a.atMs - b.atMs || (a.key < b.key ? -1 : Number(a.key > b.key))
}

function earlier(a: Date, b: Date): Date {
  return a < b ? a : b
}

function later(a: Date, b: Date): Date {
  return a > b ? a : b
}

function full(maxKeys: number): StoreError {
  return new StoreError(
    'store_full',
    `memoryFailures holds ${maxKeys} failures already (maxKeys), so this one is not kept. Use the failures of a database: postgresFailures, mysqlFailures or sqliteFailures.`,
  )
}
