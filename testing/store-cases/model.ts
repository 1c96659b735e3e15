import type { ClaimRequest, ClaimResult, IdempotencyStore, Lease } from '../../src/index.js'

interface ModelRecord {
  state: 'running' | 'completed' | 'released'
  token: string
  attempt: number
  leaseUntil: number
  expiresAt: number
}

/** A store without promises, whose clock is advanced by hand. */
export interface StoreModel {
  advance(ms: number): void
  claim(request: ClaimRequest): ClaimResult
  renew(lease: Lease, leaseMs: number): boolean
  complete(lease: Lease, retainMs: number): boolean
  release(lease: Lease): boolean
}

/** The contract of `IdempotencyStore` in its shortest form: a map, and a clock that is advanced by hand. */
export function createStoreModel(): StoreModel {
  let now = 0
  const records = new Map<string, ModelRecord>()

  function find(key: string): ModelRecord | undefined {
    const record = records.get(key)
    return record !== undefined && record.expiresAt > now ? record : undefined
  }

  function findOwn({ key, token }: Lease, ...states: ModelRecord['state'][]): ModelRecord | undefined {
    const record = find(key)
    return record?.token === token && states.includes(record.state) ? record : undefined
  }

  return {
    advance(ms) {
      now += ms
    },

    claim({ key, token, leaseMs, retainMs }) {
      const record = find(key)
      const isOwn = record?.token === token
      if (record?.state === 'completed') return { status: 'completed' }
      if (record?.state === 'released' && isOwn) return { status: 'in_flight', retryAfterMs: 1 }
      if (record?.state === 'running' && !isOwn && record.leaseUntil > now) {
        return { status: 'in_flight', retryAfterMs: record.leaseUntil - now }
      }
      const attempt = (record?.attempt ?? 0) + (isOwn ? 0 : 1)
      records.set(key, {
        state: 'running',
        token,
        attempt,
        leaseUntil: now + leaseMs,
        expiresAt: now + retainMs,
      })
      return { status: 'claimed', attempt }
    },

    renew(lease, leaseMs) {
      const record = findOwn(lease, 'running')
      if (record !== undefined) record.leaseUntil = now + leaseMs
      return record !== undefined
    },

    complete(lease, retainMs) {
      const { key, token } = lease
      const expiresAt = now + retainMs
      if (find(key) === undefined) {
        records.set(key, { state: 'completed', token, attempt: 1, leaseUntil: now, expiresAt })
        return true
      }
      const record = findOwn(lease, 'running', 'completed')
      if (record !== undefined) Object.assign(record, { state: 'completed', expiresAt })
      return record !== undefined
    },

    release(lease) {
      const record = findOwn(lease, 'running', 'released')
      if (record !== undefined) record.state = 'released'
      return record !== undefined
    },
  }
}

/** A call of a store, or time that passes. */
export type StoreAction =
  | { readonly do: 'claim'; readonly request: ClaimRequest }
  | { readonly do: 'renew'; readonly lease: Lease; readonly leaseMs: number }
  | { readonly do: 'complete'; readonly lease: Lease; readonly retainMs: number }
  | { readonly do: 'release'; readonly lease: Lease }
  | { readonly do: 'advance'; readonly ms: number }

/** Performs an action on a store or on the model, and returns the answer. */
export function perform(
  store: IdempotencyStore | StoreModel,
  advance: (ms: number) => unknown,
  action: StoreAction,
): unknown {
  switch (action.do) {
    case 'claim':
      return store.claim(action.request)
    case 'renew':
      return store.renew(action.lease, action.leaseMs)
    case 'complete':
      return store.complete(action.lease, action.retainMs)
    case 'release':
      return store.release(action.lease)
    case 'advance':
      return advance(action.ms)
  }
}
