import { callSafely } from './call-safely.js'
import { checkedClock } from './clock.js'
import { monotonicMs } from './deadline.js'
import { describeValue } from './describe-type.js'
import { StoreError } from './errors.js'
import { checkOptionNames } from './option-names.js'
import type { ClaimRequest, ClaimResult, IdempotencyStore } from './store.js'

export interface MemoryStoreOptions {
  /** How many records it holds at most. Default 250,000, some 50 MB. */
  maxKeys?: number
  /** When it is full: `evict` (the default) drops the oldest settled records; `reject` answers 503 until records age out. */
  onFull?: 'evict' | 'reject'
  /** Told of each eviction: what it counts may run again. Default: a `console.warn`, hourly at most. */
  onEvict?: (eviction: Eviction) => void
  /** Milliseconds on any clock that never goes back. Default: the monotonic clock. */
  now?: () => number
}

/** What a full store forgot to make room. */
export interface Eviction {
  readonly count: number
  /** The age of the youngest record that went, in milliseconds since it was settled. */
  readonly ageMs: number
}

/** A record of whose run nobody is sure yet. */
interface Running {
  token: string
  attempt: number
  leaseUntil: number
  expiresAt: number
}

/** A record that waits to be forgotten. A released one is kept, so that `attempt` goes on counting. */
interface Settled {
  readonly token: string
  /** The attempts so far, or `completed`. */
  readonly end: number | 'completed'
  readonly expiresAt: number
}

/** What was settled in one stretch of time, and is forgotten as a whole: no timer and no look-up for each key. */
interface Generation {
  readonly startedAt: number
  readonly records: Map<string, Settled>
  lastSettledAt: number
  lastExpiry: number
}

/** An eighth of the retention, or of the capacity, goes at a time. */
const GENERATIONS = 8
/** Retentions that differ start generations at different paces: their number stays bounded all the same. */
const MAX_GENERATIONS = 2 * GENERATIONS
const WARN_EVERY_MS = 3_600_000

/**
 * Remembers handled events in this process alone, and forgets them when it restarts: for tests, development, and one
 * process whose events may run again after a deploy. It has no timers. Its memory is bounded; a running record is never
 * evicted.
 *
 * @throws TypeError when an option makes no sense
 * @example
 * ```ts
 * tixWebhooks({ secret, on, store: memoryStore({ maxKeys: 1_000_000 }), namespace: 'orders' })
 * ```
 */
export function memoryStore(options: MemoryStoreOptions = {}): IdempotencyStore {
  checkOptionNames(options, ['maxKeys', 'onFull', 'onEvict', 'now'])
  const { maxKeys = 250_000, onFull = 'evict', onEvict = warnHourly() } = options
  if (!Number.isSafeInteger(maxKeys) || maxKeys < 1) {
    throw new TypeError(`maxKeys must be a whole number of at least 1, not ${describeValue(maxKeys)}.`)
  }
  if (onFull !== 'evict' && onFull !== 'reject') throw new TypeError("onFull must be 'evict' or 'reject'.")
  if (typeof onEvict !== 'function') throw new TypeError('onEvict must be a function.')
  const now = checkedClock(options.now, monotonicMs)

  const running = new Map<string, Running>()
  /** The oldest first. A key is in `running` or in one of them, never in two places. */
  const generations: Generation[] = []

  function findRunning(key: string, time: number): Running | undefined {
    const record = running.get(key)
    if (record === undefined || record.expiresAt > time) return record
    running.delete(key)
    return undefined
  }

  function findSettled(key: string, time: number): { record: Settled; generation: Generation } | undefined {
    for (let i = generations.length - 1; i >= 0; i--) {
      const generation = generations[i] as Generation
      const record = generation.records.get(key)
      if (record === undefined) continue
      if (record.expiresAt > time) return { record, generation }
      generation.records.delete(key)
    }
    return undefined
  }

  function size(): number {
    return generations.reduce((sum, { records }) => sum + records.size, running.size)
  }

  /** Forgets what is past its retention. A generation goes when the last of its records does. */
  function forget(time: number): void {
    for (let i = generations.length - 1; i >= 0; i--) {
      if ((generations[i] as Generation).lastExpiry <= time) generations.splice(i, 1)
    }
  }

  function forgetRunning(time: number): void {
    for (const [key, record] of running) {
      if (record.expiresAt <= time) running.delete(key)
    }
  }

  /** @throws StoreError `store_full` */
  function makeRoom(time: number): void {
    if (size() < maxKeys) return
    forgetRunning(time)
    while (size() >= maxKeys) {
      const oldest = onFull === 'evict' ? generations.shift() : undefined
      if (oldest === undefined) {
        throw new StoreError(
          'store_full',
          `The memory store holds ${maxKeys} records (maxKeys) and may drop none of them: raise maxKeys, or use a store that is not bounded by memory.`,
        )
      }
      const count = oldest.records.size
      if (count > 0) callSafely(onEvict, { count, ageMs: time - oldest.lastSettledAt })
    }
  }

  /**
   * Makes one of the two neighbours that hold the least. With this many, those two hold no more than one full
   * generation, so that what an eviction takes stays bounded.
   */
  function mergeSmallest(): void {
    let at = 0
    for (let i = 1; i < generations.length - 1; i++) {
      if (sizeOfPair(i) < sizeOfPair(at)) at = i
    }
    const [older, younger] = generations.slice(at, at + 2) as [Generation, Generation]
    for (const [key, record] of younger.records) older.records.set(key, record)
    older.lastSettledAt = younger.lastSettledAt
    older.lastExpiry = Math.max(older.lastExpiry, younger.lastExpiry)
    generations.splice(at + 1, 1)
  }

  function sizeOfPair(i: number): number {
    return (generations[i] as Generation).records.size + (generations[i + 1] as Generation).records.size
  }

  function settle(key: string, record: Settled, time: number, retainMs: number): void {
    let current = generations.at(-1)
    const isFull = current !== undefined && current.records.size >= maxKeys / GENERATIONS
    const isOld = current !== undefined && time - current.startedAt >= retainMs / GENERATIONS
    if (current === undefined || isFull || (isOld && generations.length < MAX_GENERATIONS)) {
      forgetRunning(time)
      if (generations.length >= MAX_GENERATIONS) mergeSmallest()
      current = { startedAt: time, records: new Map(), lastSettledAt: time, lastExpiry: 0 }
      generations.push(current)
    }
    current.records.set(key, record)
    current.lastSettledAt = time
    current.lastExpiry = Math.max(current.lastExpiry, record.expiresAt)
  }

  function grant(
    { key, token, leaseMs, retainMs }: ClaimRequest,
    attempt: number,
    time: number,
  ): ClaimResult {
    running.set(key, { token, attempt, leaseUntil: time + leaseMs, expiresAt: time + retainMs })
    return { status: 'claimed', attempt }
  }

  // Each method does its work before it first awaits, so that it is atomic; `async` makes what it throws a rejection.
  return {
    async claim(request) {
      const time = now()
      forget(time)
      const held = findRunning(request.key, time)
      if (held !== undefined) {
        if (held.token === request.token) return grant(request, held.attempt, time)
        if (held.leaseUntil > time) return { status: 'in-flight', retryAfterMs: held.leaseUntil - time }
        return grant(request, held.attempt + 1, time)
      }
      const settled = findSettled(request.key, time)
      if (settled !== undefined) {
        const { record, generation } = settled
        if (record.end === 'completed') return { status: 'completed' }
        // Sent before our own release and arrived after it: nobody runs, so nothing may be taken.
        if (record.token === request.token) return { status: 'in-flight', retryAfterMs: 1 }
        generation.records.delete(request.key)
        return grant(request, record.end + 1, time)
      }
      makeRoom(time)
      return grant(request, 1, time)
    },

    async renew({ key, token }, leaseMs) {
      const time = now()
      const held = findRunning(key, time)
      if (held?.token !== token) return false
      held.leaseUntil = time + leaseMs
      return true
    },

    async complete({ key, token }, retainMs) {
      const time = now()
      const held = findRunning(key, time)
      if (held === undefined) {
        const settled = findSettled(key, time)
        if (settled?.record.token !== token || settled.record.end !== 'completed') return false
        settled.generation.records.delete(key)
      } else {
        if (held.token !== token) return false
        running.delete(key)
      }
      settle(key, { token, end: 'completed', expiresAt: time + retainMs }, time, retainMs)
      return true
    },

    async release({ key, token }) {
      const time = now()
      const held = findRunning(key, time)
      if (held === undefined) {
        const settled = findSettled(key, time)
        return settled?.record.token === token && settled.record.end !== 'completed'
      }
      if (held.token !== token) return false
      running.delete(key)
      settle(key, { token, end: held.attempt, expiresAt: held.expiresAt }, time, held.expiresAt - time)
      return true
    },
  }
}

function warnHourly(): (eviction: Eviction) => void {
  let warnedAt: number | undefined
  return ({ count, ageMs }) => {
    const time = monotonicMs()
    if (warnedAt !== undefined && time - warnedAt < WARN_EVERY_MS) return
    warnedAt = time
    console.warn(
      `tix-webhooks: the memory store is full and forgot ${count} events, the last of them ${Math.round(ageMs / 1000)} s old: they run again if they are delivered again. Raise maxKeys, or use a store outside of this process.`,
    )
  }
}
