import fc from 'fast-check'
import type { ClaimRequest, ClaimResult, IdempotencyStore, Lease } from 'tix-webhooks'

interface ModelRecord {
  state: 'running' | 'completed' | 'released'
  token: string
  attempt: number
  leaseUntil: number
  expiresAt: number
}

/**
 * What every store must answer, said as briefly as it can be: the contract of `IdempotencyStore` over one map and a
 * clock that is moved by hand. It forgets nothing but what is past its retention.
 */
export function createStoreModel() {
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
    advance(ms: number): void {
      now += ms
    },

    claim({ key, token, leaseMs, retainMs }: ClaimRequest): ClaimResult {
      const record = find(key)
      const isOwn = record?.token === token
      if (record?.state === 'completed') return { status: 'completed' }
      if (record?.state === 'released' && isOwn) return { status: 'in-flight', retryAfterMs: 1 }
      if (record?.state === 'running' && !isOwn && record.leaseUntil > now) {
        return { status: 'in-flight', retryAfterMs: record.leaseUntil - now }
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

    renew(lease: Lease, leaseMs: number): boolean {
      const record = findOwn(lease, 'running')
      if (record !== undefined) record.leaseUntil = now + leaseMs
      return record !== undefined
    },

    complete(lease: Lease, retainMs: number): boolean {
      const record = findOwn(lease, 'running', 'completed')
      if (record !== undefined) Object.assign(record, { state: 'completed', expiresAt: now + retainMs })
      return record !== undefined
    },

    release(lease: Lease): boolean {
      const record = findOwn(lease, 'running', 'released')
      if (record !== undefined) record.state = 'released'
      return record !== undefined
    },
  }
}

export type StoreModel = ReturnType<typeof createStoreModel>

/** One step of a history: a store call, or time that passes. */
export type StoreStep =
  | { readonly do: 'claim'; readonly request: ClaimRequest }
  | { readonly do: 'renew'; readonly lease: Lease; readonly leaseMs: number }
  | { readonly do: 'complete'; readonly lease: Lease; readonly retainMs: number }
  | { readonly do: 'release'; readonly lease: Lease }
  | { readonly do: 'advance'; readonly ms: number }

const SECOND = 1000

/** Around a lease of 30 s and a retention of 1000 s: just before them, just after them, and well between. */
const ADVANCES = [1, 29, 31, 200, 990, 1100].map((seconds) => seconds * SECOND)

/**
 * Histories of 3 keys and 4 tokens. They must be long: short ones missed stores that dropped a record whose retention a
 * second `complete` had moved.
 *
 * @param terms the leases and retentions of each call; a retention is never under the lease
 */
export function storeHistories(
  terms: { leaseMs: readonly number[]; retainMs: readonly number[] },
  maxLength = 60,
): fc.Arbitrary<StoreStep[]> {
  const lease = fc.record({ key: fc.constantFrom('a', 'b', 'c'), token: fc.constantFrom('1', '2', '3', '4') })
  const leaseMs = fc.constantFrom(...terms.leaseMs)
  const retainMs = fc.constantFrom(...terms.retainMs)
  const claim = fc.record({ lease, leaseMs, retainMs }).map(({ lease, leaseMs, retainMs }) => ({
    do: 'claim' as const,
    request: { ...lease, leaseMs, retainMs: Math.max(leaseMs, retainMs) },
  }))
  const step: fc.Arbitrary<StoreStep> = fc.oneof(
    { weight: 3, arbitrary: claim },
    fc.record({ do: fc.constant('renew' as const), lease, leaseMs }),
    fc.record({ do: fc.constant('complete' as const), lease, retainMs }),
    fc.record({ do: fc.constant('release' as const), lease }),
    fc.record({ do: fc.constant('advance' as const), ms: fc.constantFrom(...ADVANCES) }),
  )
  return fc.array(step, { maxLength, size: 'max' })
}

/** What a store, or the model, answers to one step. */
export function play(
  store: IdempotencyStore | StoreModel,
  advance: (ms: number) => unknown,
  step: StoreStep,
): unknown {
  switch (step.do) {
    case 'claim':
      return store.claim(step.request)
    case 'renew':
      return store.renew(step.lease, step.leaseMs)
    case 'complete':
      return store.complete(step.lease, step.retainMs)
    case 'release':
      return store.release(step.lease)
    case 'advance':
      return advance(step.ms)
  }
}
