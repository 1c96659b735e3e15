import { EVICTION_WARNING_MS } from '../../durations.js'
import { StoreError } from '../../errors.js'
import { checkedFor } from '../../lib/call-site.js'
import { checkKey } from '../../lib/check-key.js'
import { checkWholeNumber } from '../../lib/check-number.js'
import { shownMessageOf } from '../../lib/errors/redact-error.js'
import { checkOptionNames } from '../../lib/option-names.js'
import { callSafely } from '../../lib/promises.js'
import { checkedClock, monotonicMs } from '../../lib/time/clock.js'
import type { FailedDelivery } from '../failure.js'
import type { HandledRecords, IdempotencyStore, LedgerStore } from '../store.js'
import {
  claim,
  complete,
  discard,
  type EventRow,
  isFinal,
  isLive,
  keep,
  type LedgerTime,
  release,
  renew,
  type Transition,
} from '../transition.js'
import { memoryLedger, type Rows, replayableIn } from './memory-ledger.js'

export interface MemoryStoreOptions {
  /** The most events it holds. Default 250,000, about 60 MB. */
  maxKeys?: number | undefined
  /** The most bytes of failed events that it keeps. Default 67,108,864 (64 MiB). */
  maxBytes?: number | undefined
  /** When it is full: `evict` drops the oldest events that are not running; `reject` answers 503 until events age out. Default `evict`. */
  onFull?: 'evict' | 'reject' | undefined
  /** Called at each eviction: the evicted events may run again. Default: a `console.warn`, hourly at most. */
  onEvict?: ((eviction: Eviction) => void) | undefined
  /**
   * Milliseconds since the epoch, for leases, retention and the dates of the ledger. Default: leases and retention by the monotonic clock, and
   * dates by `Date.now`.
   */
  now?: (() => number) | undefined
}

/** The events that a full store forgot to make room. */
export interface Eviction {
  readonly count: number
  /** The age of the youngest evicted event, in milliseconds since it was last written. */
  readonly ageMs: number
}

/** A ledger in this process. It has no `check`: it is always there. */
export interface MemoryStore extends LedgerStore, HandledRecords {}

/**
 * Remembers handled events and keeps failed ones in this process only, and forgets them when it restarts: for tests, development, or a single
 * process whose events may run again after a deploy. It has no timers. Its memory is bounded; a running event is never evicted.
 *
 * @throws TypeError when an option is invalid
 * @example
 * ```ts
 * tixWebhooks({ secret, on, store: memoryStore({ maxKeys: 1_000_000 }), namespace: 'orders' })
 * ```
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  return checkedFor(memoryStore, () => {
    const given = checkOptionNames(options, ['maxKeys', 'maxBytes', 'onFull', 'onEvict', 'now'])
    const { maxKeys, maxBytes, onFull, onEvict } = given
    if (maxKeys !== undefined) checkWholeNumber('maxKeys', maxKeys)
    if (maxBytes !== undefined) checkWholeNumber('maxBytes', maxBytes)
    if (onFull !== undefined && onFull !== 'evict' && onFull !== 'reject')
      throw new TypeError("onFull must be 'evict' or 'reject'.")
    if (onEvict !== undefined && typeof onEvict !== 'function')
      throw new TypeError('onEvict must be a function.')
    const now = given.now === undefined ? undefined : checkedClock(given.now)
    return createStore(
      { ...given, onEvict: onEvict && safely(onEvict) },
      now === undefined ? steadyClock() : () => timeOf(now()),
      (rows, change) => ({
        async isHandled(key: string) {
          checkKey(key)
          const row = rows.rowOf(key)
          return isLive(row, rows.timeNow()) && isFinal(row)
        },
        ledger: memoryLedger({
          ...rows,
          discard: (key, reason) => change(key, (row, time) => discard(row, { reason }, time)),
        }),
      }),
    )
  })
}

function safely(onEvict: (eviction: Eviction) => void): (eviction: Eviction) => void {
  let hasFailed = false
  return (eviction) =>
    callSafely(
      () => onEvict(eviction),
      (thrown) => {
        if (!hasFailed) console.error(`tix-webhooks: onEvict failed. Logged once: ${shownMessageOf(thrown)}`)
        hasFailed = true
      },
    )
}

/**
 * The store of a receiver without a `store` option. Nobody but the receiver has it, so that its ledger is read by replays alone.
 *
 * @param now the clock of the retention and the dates: a wall clock that steps forward must not end a lease
 */
export function defaultStore(now?: () => number): IdempotencyStore {
  const timeNow = now === undefined ? steadyClock() : () => ({ now: now(), leaseNow: monotonicMs() })
  return createStore({}, timeNow, (rows) => ({ ledger: replayableIn(rows) }))
}

function timeOf(now: number): LedgerTime {
  return { now, leaseNow: now }
}

/** Dates that never step, however the wall clock does: that of the process's first reading, and the time since. */
function steadyClock(): () => LedgerTime {
  let startedAt: number | undefined
  return () => {
    const steady = monotonicMs()
    startedAt ??= Date.now() - steady
    return timeOf(startedAt + steady)
  }
}

/** A row, and when it was last written, by the clock of its lease. */
interface Entry {
  row: EventRow
  writtenAt: number
}

/** Carries out a transition of one event. */
type Change = <Answer>(
  key: string,
  make: (row: EventRow | undefined, time: LedgerTime) => Transition<Answer>,
) => Answer

function createStore<Reads>(
  { maxKeys = 250_000, maxBytes = 64 * 2 ** 20, onFull, onEvict = warnHourly() }: MemoryStoreOptions,
  timeNow: () => LedgerTime,
  readsOf: (rows: Rows, change: Change) => Reads,
): Omit<MemoryStore, 'isHandled' | 'ledger'> & Reads {
  /** In the order in which they were settled: the first that is not running is the oldest. */
  const entries = new Map<string, Entry>()
  /** The keys of those with bytes, in the same order. */
  const withBytes = new Set<string>()
  let keptBytes = 0

  /** @param entry `undefined`: it is forgotten */
  function put(key: string, entry: Entry | undefined): void {
    const bytes = bytesOf(entry?.row)
    keptBytes += bytes - bytesOf(entries.get(key)?.row)
    const isSettled = entry?.row.state !== 'running'
    if (isSettled) entries.delete(key)
    if (isSettled || bytes === 0) withBytes.delete(key)
    if (entry === undefined) return
    entries.set(key, entry)
    if (bytes > 0) withBytes.add(key)
  }

  /**
   * Drops the oldest until there is room. Those past their retention come first, unless events are kept for different times.
   *
   * @throws StoreError `store_full`
   */
  function makeRoom(
    key: string,
    more: { readonly keys: number; readonly bytes: number },
    time: LedgerTime,
  ): void {
    const hasTooMany = (): boolean => entries.size + more.keys > maxKeys
    const isTooLarge = (): boolean => keptBytes + more.bytes > maxBytes
    let count = 0
    let youngest = 0
    const drop = (candidates: Iterable<string>, isFull: () => boolean): void => {
      for (const other of candidates) {
        if (!isFull()) return
        const { row, writtenAt } = entries.get(other) as Entry
        if (other === key || (row.state === 'running' && row.leaseUntil > time.leaseNow)) continue
        if (isLive(row, time)) {
          if (onFull === 'reject') return
          count++
          youngest = Math.max(youngest, writtenAt)
        }
        put(other, undefined)
      }
    }
    drop(entries.keys(), hasTooMany)
    // What can never be kept drops nothing.
    if (more.bytes <= maxBytes) drop(withBytes, isTooLarge)
    if (count > 0) onEvict({ count, ageMs: time.leaseNow - youngest })
    if (!hasTooMany() && !isTooLarge()) return
    throw new StoreError(
      'store_full',
      `The memory store holds ${entries.size} events and ${keptBytes} bytes of failed ones (maxKeys, maxBytes) and can drop none of them: raise these, or use a store that is not bounded by memory.`,
    )
  }

  // Each method is synchronous, so it is atomic.
  const change: Change = (key, make) => {
    const time = timeNow()
    const entry = entries.get(key)
    const { row, answer } = make(entry?.row, time)
    if (row === entry?.row || row === undefined) return answer
    const more = { keys: entry === undefined ? 1 : 0, bytes: bytesOf(row) - bytesOf(entry?.row) }
    if (more.keys > 0 || more.bytes > 0) makeRoom(key, more, time)
    put(key, { row, writtenAt: time.leaseNow })
    return answer
  }

  const rows: Rows = {
    rows: () => [...entries].map(([key, { row }]) => ({ key, row })),
    rowOf: (key) => entries.get(key)?.row,
    timeNow,
  }

  // It checks no request of the receiver's, which would cost it more than all else: a Map takes any key.
  return {
    isVolatile: true,
    claim: (request) => change(request.key, (row, time) => claim(row, request, time)),
    renew: ({ key, token }, leaseMs) => change(key, (row, time) => renew(row, { token, leaseMs }, time)),
    complete: ({ key, token }, retainMs, discarded) =>
      change(key, (row, time) => complete(row, { token, retainMs, discarded }, time)),
    release: ({ key, token }) => change(key, (row, time) => release(row, { token }, time)),
    fail({ key, token }, failed) {
      try {
        return change(key, (row, time) => keep(row, { token, failed: copyOf(failed) }, time))
      } catch (error) {
        // There is no room for its bytes, and the event must not stay in flight.
        change(key, (row, time) => release(row, { token }, time))
        throw error
      }
    },
    keep: (failed) => change(failed.key, (row, time) => keep(row, { failed: copyOf(failed) }, time)),
    forget(key) {
      const isKnown = entries.has(key)
      put(key, undefined)
      return isKnown
    },
    ...readsOf(rows, change),
  }
}

/** The bytes may be in a buffer that is used again. */
function copyOf(failed: FailedDelivery): FailedDelivery {
  return { ...failed, rawBody: failed.rawBody.slice() }
}

function bytesOf(row: EventRow | undefined): number {
  return row?.failure?.delivery.rawBody.length ?? 0
}

function warnHourly(): (eviction: Eviction) => void {
  let warnedAt: number | undefined
  return ({ count, ageMs }) => {
    const time = monotonicMs()
    if (warnedAt !== undefined && time - warnedAt < EVICTION_WARNING_MS) return
    warnedAt = time
    console.warn(
      `tix-webhooks: the memory store is full and forgot ${count} ${count === 1 ? 'event' : 'events'}, the last of them ${Math.round(ageMs / 1000)} s old: they run again if they are delivered again. Raise maxKeys, or use a store outside of this process.`,
    )
  }
}
