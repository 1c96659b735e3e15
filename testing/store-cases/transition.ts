import type { ClaimRequest, ClaimResult, IdempotencyStore, Lease } from '../../src/index.js'

/** The record of one key. */
export interface KeyRecord {
  readonly phase: 'running' | 'completed' | 'released'
  readonly token: string
  readonly attempt: number
  readonly leaseUntil: number
  readonly expiresAt: number
}

/** A call of a store, without its key. */
export type StoreCall =
  | { readonly do: 'claim'; readonly token: string; readonly leaseMs: number; readonly retainMs: number }
  | { readonly do: 'renew'; readonly token: string; readonly leaseMs: number }
  | { readonly do: 'complete'; readonly token: string; readonly retainMs: number }
  | { readonly do: 'release'; readonly token: string }

export type KeyedCall = StoreCall & { readonly key: string }

export type StoreAnswer = ClaimResult | boolean

/** The record after a call, which is the same object if nothing changed, and the answer. */
export interface Transition {
  readonly record: KeyRecord | undefined
  readonly answer: StoreAnswer
}

/**
 * The contract of `IdempotencyStore`, for one key: what a call makes of its record, and what it returns. All tests of stores compare with this
 * function.
 *
 * @param stored a record past its retention counts as none
 */
export function transition(stored: KeyRecord | undefined, call: StoreCall, now: number): Transition {
  const record = isLive(stored, now) ? stored : undefined
  const isOwn = record?.token === call.token
  const refused = (answer: StoreAnswer): Transition => ({ record: stored, answer })

  switch (call.do) {
    case 'claim': {
      if (record?.phase === 'completed') return refused({ status: 'completed' })
      if (record?.phase === 'released' && isOwn) return refused({ status: 'in_flight', retryAfterMs: 1 })
      if (record?.phase === 'running' && !isOwn && record.leaseUntil > now) {
        return refused({ status: 'in_flight', retryAfterMs: record.leaseUntil - now })
      }
      const attempt = (record?.attempt ?? 0) + (isOwn ? 0 : 1)
      const { token, leaseMs, retainMs } = call
      return {
        record: { phase: 'running', token, attempt, leaseUntil: now + leaseMs, expiresAt: now + retainMs },
        answer: { status: 'claimed', attempt },
      }
    }
    case 'renew':
      if (!isOwn || record.phase !== 'running') return refused(false)
      return { record: { ...record, leaseUntil: now + call.leaseMs }, answer: true }
    case 'complete': {
      if (record !== undefined && (!isOwn || record.phase === 'released')) return refused(false)
      const { attempt, leaseUntil } = record ?? { attempt: 1, leaseUntil: now }
      return {
        record: {
          phase: 'completed',
          token: call.token,
          attempt,
          leaseUntil,
          expiresAt: now + call.retainMs,
        },
        answer: true,
      }
    }
    case 'release':
      if (!isOwn || record.phase === 'completed') return refused(false)
      return { record: { ...record, phase: 'released' }, answer: true }
  }
}

export function isLive(record: KeyRecord | undefined, now: number): record is KeyRecord {
  return record !== undefined && record.expiresAt > now
}

/** A call of a store, or time that passes. */
export type StoreAction = KeyedCall | { readonly do: 'advance'; readonly ms: number }

/** A store in memory that decides by `transition`, whose clock is advanced by hand. */
export interface StoreModel {
  /** Performs an action, and returns the answer: undefined if time passes. */
  perform(action: StoreAction): StoreAnswer | undefined
}

export function createStoreModel(): StoreModel {
  let now = 0
  const records = new Map<string, KeyRecord>()
  return {
    perform(action) {
      if (action.do === 'advance') {
        now += action.ms
        return undefined
      }
      const { record, answer } = transition(records.get(action.key), action, now)
      if (record !== undefined) records.set(action.key, record)
      return answer
    },
  }
}

/** Makes a call of a store, with new arguments. */
export function send(
  store: IdempotencyStore,
  call: KeyedCall,
  prepare: <Argument extends ClaimRequest | Lease>(argument: Argument) => Argument = (argument) => argument,
): StoreAnswer | Promise<StoreAnswer> {
  const { key, token } = call
  switch (call.do) {
    case 'claim':
      return store.claim(prepare({ key, token, leaseMs: call.leaseMs, retainMs: call.retainMs }))
    case 'renew':
      return store.renew(prepare({ key, token }), call.leaseMs)
    case 'complete':
      return store.complete(prepare({ key, token }), call.retainMs)
    case 'release':
      return store.release(prepare({ key, token }))
  }
}
