import type { ClaimRequest, ClaimResult, IdempotencyStore } from 'tix-webhooks'

export const MINUTE = 60_000
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

/** A claim for a minute, kept for a week. */
export function request(key: string, token: string, overrides: Partial<ClaimRequest> = {}): ClaimRequest {
  return { key, token, leaseMs: MINUTE, retainMs: 7 * DAY, ...overrides }
}

export async function claim(store: IdempotencyStore, key: string, token: string): Promise<ClaimResult> {
  return store.claim(request(key, token))
}

/** Claims a key and completes it. */
export async function handle(store: IdempotencyStore, key: string, retainMs = 7 * DAY): Promise<void> {
  await store.claim(request(key, 'handler', { retainMs }))
  await store.complete({ key, token: 'handler' }, retainMs)
}

/** A manual clock. */
export function testClock(start = Date.UTC(2026, 4, 17, 14)) {
  let ms = start
  return {
    now: () => ms,
    jump(by: number) {
      ms += by
    },
  }
}
