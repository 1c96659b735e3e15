import { EVICTION_WARNING_MS } from '../../durations.js'
import { StoreError } from '../../errors.js'
import { callSafely } from '../../lib/call-safely.js'
import { checkedFor } from '../../lib/call-site.js'
import { checkKey } from '../../lib/check-key.js'
import { checkWholeNumber } from '../../lib/check-number.js'
import { shownMessageOf } from '../../lib/errors/shown-message.js'
import { checkOptionNames } from '../../lib/option-names.js'
import { checkedClock } from '../../lib/time/clock.js'
import { monotonicMs } from '../../lib/time/timers.js'
import type { ClaimRequest, ClaimResult, HandledRecords, IdempotencyStore } from '../store.js'
import { createGenerations, isCompletedWith } from './generations.js'
import { hashOf } from './key-filter.js'

export interface MemoryStoreOptions {
  /** The most records it holds. Default 250,000, about 30 MB. */
  maxKeys?: number | undefined
  /** When it is full: `evict` drops the oldest settled records; `reject` answers 503 until records age out. Default `evict`. */
  onFull?: 'evict' | 'reject' | undefined
  /** Called at each eviction: the evicted events may run again. Default: a `console.warn`, hourly at most. */
  onEvict?: ((eviction: Eviction) => void) | undefined
  /** Milliseconds on a clock that never goes back, for leases and retention. Default: the monotonic clock. */
  now?: (() => number) | undefined
}

/** The records that a full store forgot to make room. */
export interface Eviction {
  readonly count: number
  /** The age of the youngest evicted record, in milliseconds since it was settled. */
  readonly ageMs: number
}

/** An idempotency store in this process. It has no `check`: it is always there. */
export interface MemoryStore extends IdempotencyStore, HandledRecords {}

/** A record whose run has not ended. */
interface Running {
  token: string
  attempt: number
  leaseUntil: number
  expiresAt: number
  /** Kept from the claim for the completion. */
  hash: number
}

/**
 * Remembers handled events in this process only, and forgets them when it restarts: for tests, development, or a single process whose
 * events may run again after a deploy. It has no timers. Its memory is bounded; a running record is never evicted.
 *
 * @throws TypeError when an option is invalid
 * @example
 * ```ts
 * tixWebhooks({ secret, on, store: memoryStore({ maxKeys: 1_000_000 }), namespace: 'orders' })
 * ```
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  return checkedFor(memoryStore, () => {
    const given = checkOptionNames(options, ['maxKeys', 'onFull', 'onEvict', 'now'])
    const now = checkedClock(given.now, monotonicMs)
    const { isHandled, ...store } = createStore(given, now, now)
    return {
      ...store,
      async isHandled(key) {
        checkKey(key)
        return isHandled(key)
      },
    }
  })
}

/**
 * The store of a receiver without a `store` option.
 *
 * @param now the clock of the retention only: a wall clock that steps forward must not end a lease
 */
export function defaultStore(now: () => number = monotonicMs): IdempotencyStore {
  return createStore(Object.create(null), now, monotonicMs)
}

/**
 * @param now the clock of settled records
 * @param runNow the clock of running records
 */
function createStore(
  options: MemoryStoreOptions,
  now: () => number,
  runNow: () => number,
): IdempotencyStore & { isHandled(key: string): boolean } {
  const { maxKeys = 250_000, onFull = 'evict', onEvict = warnHourly() } = options
  checkWholeNumber('maxKeys', maxKeys)
  if (onFull !== 'evict' && onFull !== 'reject') throw new TypeError("onFull must be 'evict' or 'reject'.")
  if (typeof onEvict !== 'function') throw new TypeError('onEvict must be a function.')

  const running = new Map<string, Running>()
  /** A key is in `running` or here, never in both. */
  const settled = createGenerations(maxKeys, forgetRunning)

  let hasFailed = false

  function evicted(eviction: Eviction): void {
    callSafely(
      () => onEvict(eviction),
      (thrown) => {
        if (!hasFailed) console.error(`tix-webhooks: onEvict failed. Logged once: ${shownMessageOf(thrown)}`)
        hasFailed = true
      },
    )
  }

  /** A single reading if both clocks are the same. */
  function runTimeAt(time: number): number {
    return runNow === now ? time : runNow()
  }

  function findRunning(key: string, runTime: number): Running | undefined {
    const record = running.get(key)
    if (record === undefined || record.expiresAt > runTime) return record
    running.delete(key)
    return undefined
  }

  function forgetRunning(time: number): void {
    const runTime = runTimeAt(time)
    for (const [key, record] of running) {
      if (record.expiresAt <= runTime) running.delete(key)
    }
  }

  function isFull(): boolean {
    return running.size + settled.size >= maxKeys
  }

  /** @throws StoreError `store_full` */
  function makeRoom(time: number): void {
    if (!isFull()) return
    forgetRunning(time)
    while (isFull()) {
      const oldest = onFull === 'evict' ? settled.shift() : undefined
      if (oldest === undefined) {
        throw new StoreError(
          'store_full',
          `The memory store holds ${maxKeys} records (maxKeys) and can drop none of them: raise maxKeys, or use a store that is not bounded by memory.`,
        )
      }
      const count = oldest.records.size
      if (count > 0) evicted({ count, ageMs: time - oldest.lastSettledAt })
    }
  }

  function grant(
    { key, token, leaseMs, retainMs }: ClaimRequest,
    hash: number,
    attempt: number,
    runTime: number,
  ): ClaimResult {
    running.set(key, { token, attempt, leaseUntil: runTime + leaseMs, expiresAt: runTime + retainMs, hash })
    return { status: 'claimed', attempt }
  }

  // Each method is synchronous, so it is atomic. It checks no request, which would cost it more than all else: a Map takes any key.
  return {
    isVolatile: true,
    claim(request) {
      const { key, token } = request
      const time = now()
      const runTime = runTimeAt(time)
      settled.forget(time)
      const held = findRunning(key, runTime)
      if (held !== undefined) {
        if (held.token === token) return grant(request, held.hash, held.attempt, runTime)
        if (held.leaseUntil > runTime) return { status: 'in_flight', retryAfterMs: held.leaseUntil - runTime }
        return grant(request, held.hash, held.attempt + 1, runTime)
      }
      const hash = hashOf(key)
      const found = settled.find(key, hash, time)
      if (found === undefined) {
        makeRoom(time)
        return grant(request, hash, 1, runTime)
      }
      const { record } = found
      if (typeof record === 'number') return { status: 'completed' }
      // Sent before our own release and arrived after it: nothing runs, so nothing may be taken.
      if (record.token === token) return { status: 'in_flight', retryAfterMs: 1 }
      settled.remove(key, found)
      return grant(request, hash, record.attempt + 1, runTime)
    },

    renew({ key, token }, leaseMs) {
      const runTime = runNow()
      const held = findRunning(key, runTime)
      if (held?.token !== token) return false
      held.leaseUntil = runTime + leaseMs
      return true
    },

    complete({ key, token }, retainMs) {
      const time = now()
      const runTime = runTimeAt(time)
      const held = findRunning(key, runTime)
      const hash = held?.hash ?? hashOf(key)
      if (held === undefined) {
        const found = settled.find(key, hash, time)
        if (found === undefined) makeRoom(time)
        else if (isCompletedWith(found, token)) settled.remove(key, found)
        else return false
      } else {
        if (held.token !== token) return false
        running.delete(key)
      }
      settled.addCompleted(key, hash, token, time, retainMs)
      return true
    },

    release({ key, token }) {
      const time = now()
      const runTime = runTimeAt(time)
      const held = findRunning(key, runTime)
      if (held === undefined) {
        const record = settled.find(key, hashOf(key), time)?.record
        return typeof record === 'object' && record.token === token
      }
      if (held.token !== token) return false
      running.delete(key)
      const { attempt, hash } = held
      const expiresAt = time + (held.expiresAt - runTime)
      settled.addReleased(key, hash, { token, attempt, expiresAt }, time)
      return true
    },

    isHandled: (key) => typeof settled.find(key, hashOf(key), now())?.record === 'number',
  }
}

function warnHourly(): (eviction: Eviction) => void {
  let warnedAt: number | undefined
  return ({ count, ageMs }) => {
    const time = monotonicMs()
    if (warnedAt !== undefined && time - warnedAt < EVICTION_WARNING_MS) return
    warnedAt = time
    console.warn(
      `tix-webhooks: the memory store is full and forgot ${count} events, the last of them ${Math.round(ageMs / 1000)} s old: they run again if they are delivered again. Raise maxKeys, or use a store outside of this process.`,
    )
  }
}
