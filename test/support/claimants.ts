import { type ClaimResult, type IdempotencyStore, memoryStore } from 'tix-webhooks'

export const LEASE = 30_000
export const RETAIN = 1_000_000
export const CLAIMED: ClaimResult = { status: 'claimed', attempt: 1 }
export const RECLAIMED: ClaimResult = { status: 'claimed', attempt: 2 }
export const COMPLETED: ClaimResult = { status: 'completed' }

export function inFlight(retryAfterMs: number): ClaimResult {
  return { status: 'in_flight', retryAfterMs }
}

/** A store with a manual clock, and its callers: `mine` usually holds the key, and `other` wants it too. */
export function setUp() {
  let now = 5_000
  const store = memoryStore({ now: () => now })
  return {
    store,
    advance: (ms: number): void => {
      now += ms
    },
    mine: holder(store, 'mine'),
    other: holder(store, 'other'),
    third: holder(store, 'third'),
  }
}

export type SetUp = ReturnType<typeof setUp>

export function holder(store: IdempotencyStore, token: string, key = 'orders/order.created/ord_1') {
  const lease = { key, token }
  return {
    claim: async (leaseMs = LEASE, retainMs = RETAIN) => store.claim({ ...lease, leaseMs, retainMs }),
    renew: async (leaseMs = LEASE) => store.renew(lease, leaseMs),
    complete: async (retainMs = RETAIN) => store.complete(lease, retainMs),
    release: async () => store.release(lease),
  }
}

/** Everything that the three callers can observe from here on, at several times: two records with equal answers are equal. */
export async function outlook(prepare: (set: SetUp) => Promise<unknown>): Promise<unknown[]> {
  const seen: unknown[] = []
  for (const after of [0, 1, LEASE - 1, LEASE, RETAIN - LEASE - 1, RETAIN - 1, RETAIN]) {
    for (const caller of ['mine', 'other', 'third'] as const) {
      for (const call of ['claim', 'renew', 'complete', 'release'] as const) {
        const set = setUp()
        await prepare(set)
        set.advance(after)
        seen.push([after, caller, call, await set[caller][call]()])
      }
    }
  }
  return seen
}
