import { randomUUID } from 'node:crypto'
import type { IdempotencyStore, Inbox } from 'tix-webhooks'

/** One way to handle an event once. */
export interface Contender {
  readonly name: string
  /** The work of one delivery: checks whether the event is new, and if so records that it was handled. */
  deliver(key: string): Promise<boolean>
}

/** Ours and the bare commands, through one client on one server. */
export interface Arena {
  readonly ours: Contender
  readonly byHand: Contender
  close(): Promise<void>
}

export const LEASE_MS = 60_000
export const RETAIN_MS = 7 * 86_400_000
/** Higher than any key that a store is filled with. */
let keys = 1_000_000_000

/** As long as the receiver's keys, and never the same twice. */
export function nextKey(): string {
  return keyOf(++keys)
}

export function keyOf(n: number): string {
  return `orders/order.created/ord_${String(n).padStart(10, '0')}`
}

const prefix = randomUUID()
let tokens = 0

/** Made as the receiver makes them. */
export function nextToken(): string {
  tokens += 1
  return `${prefix}.${tokens.toString(36)}`
}

/** The store calls that the receiver makes for one delivery, without the handler. */
export function throughStore(name: string, store: IdempotencyStore): Contender {
  return {
    name,
    async deliver(key) {
      const lease = { key, token: nextToken() }
      // Without a spread, which costs more here than the store itself.
      const { status } = await store.claim({
        key,
        token: lease.token,
        leaseMs: LEASE_MS,
        retainMs: RETAIN_MS,
      })
      if (status === 'completed') return false
      const isRecorded = status === 'claimed' && (await store.complete(lease, RETAIN_MS))
      if (!isRecorded) throw new Error(`${name} did not record ${key}: ${status}`)
      return true
    },
  }
}

/** The same through an inbox, with one effect. */
export function throughInbox<Tx>(
  name: string,
  inbox: Inbox<Tx>,
  effect: (tx: Tx, key: string) => Promise<unknown>,
): Contender {
  return {
    name,
    async deliver(key) {
      const { status } = await inbox.once({ key, retainMs: RETAIN_MS }, async (tx) => {
        await effect(tx, key)
      })
      if (status === 'handled') return true
      if (status === 'duplicate') return false
      throw new Error(`${name} did not record ${key}: ${status}`)
    },
  }
}
