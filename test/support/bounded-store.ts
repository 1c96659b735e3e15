import { type Eviction, memoryStore } from 'tix-webhooks'

const LEASE = 30_000
export const RETAIN = 1_000_000

/** A small store with a manual clock, and its reports of evictions. */
export function boundedStore(maxKeys: number, options: { onFull?: 'evict' | 'reject' } = {}) {
  let now = 0
  const evictions: Eviction[] = []
  const store = memoryStore({
    maxKeys,
    now: () => now,
    onEvict: (eviction) => evictions.push(eviction),
    ...options,
  })
  const claim = async (key: string, token = key) =>
    store.claim({ key, token, leaseMs: LEASE, retainMs: RETAIN })
  return {
    store,
    evictions,
    claim,
    complete: async (key: string, token = key) => store.complete({ key, token }, RETAIN),
    release: async (key: string, token = key) => store.release({ key, token }),
    /** Whether it runs with this token. A completion would not show that, because it also succeeds on an absent record. */
    isHeld: async (key: string, token = key) => store.renew({ key, token }, LEASE),
    async handle(...keys: string[]) {
      for (const key of keys) {
        await claim(key)
        await store.complete({ key, token: key }, RETAIN)
      }
    },
    advance(ms: number) {
      now += ms
    },
    time: () => now,
    evicted: () => evictions.reduce((sum, { count }) => sum + count, 0),
  }
}

export function keys(count: number, prefix = 'k'): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index}`)
}
