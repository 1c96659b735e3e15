import type { ClaimRequest, IdempotencyStore, Lease } from '../../src/index.js'
import { isObject } from './data.js'

interface HeldLease extends Lease {
  readonly store: IdempotencyStore
  readonly endsAtMs: number
}

/**
 * The leases that a store of the world has granted. The world's time is virtual and a server's is not, so a lease is ended when its
 * virtual time is over: then any other delivery may claim, as if it had expired.
 */
export class Leases {
  private readonly held = new Map<string, HeldLease>()

  /** Notes the result of a call. */
  returned(
    target: unknown,
    method: PropertyKey,
    args: readonly unknown[],
    result: unknown,
    nowMs: number,
  ): void {
    // It may have other methods, such as migrate.
    if (!isStore(target) || !METHODS.includes(method)) return
    const [lease, ms] = args as [Lease, number]
    const { token } = lease
    const held = this.held.get(token)
    if (method === 'claim' && (result as { status?: unknown } | undefined)?.status === 'claimed') {
      const { key, leaseMs } = lease as ClaimRequest
      this.held.set(token, { store: target, key, token, endsAtMs: nowMs + leaseMs })
    } else if (method === 'renew' && result === true && held !== undefined) {
      this.held.set(token, { ...held, endsAtMs: nowMs + ms })
    } else if ((method === 'complete' || method === 'release') && result === true) {
      this.held.delete(token)
    }
  }

  async end(nowMs: number): Promise<void> {
    for (const { store, key, token, endsAtMs } of this.held.values()) {
      if (endsAtMs > nowMs) continue
      this.held.delete(token)
      // If another token has it by now, this changes nothing.
      await store.release({ key, token })
    }
  }
}

const METHODS: readonly PropertyKey[] = ['claim', 'renew', 'complete', 'release']

/** Whether an object is an idempotency store, by its methods. */
export function isStore(target: unknown): target is IdempotencyStore {
  return isObject(target) && METHODS.every((name) => typeof (target as never)[name] === 'function')
}
