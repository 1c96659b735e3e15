// A store of your own. Anything that can compare and set can remember which events were handled: four methods, each one
// atomic step. This one keeps its records in a Map, so that the rules can be read; a backend does the same in one statement.
import type { ClaimRequest, ClaimResult, IdempotencyStore, Lease, Purgeable } from 'tix-webhooks'
import { tixWebhooks } from 'tix-webhooks/node'
import { type StoreHarness, storeCases } from 'tix-webhooks/testing'

interface StoredRecord {
  state: 'running' | 'completed' | 'released'
  token: string
  attempt: number
  leaseUntil: number
  expiresAt: number
}

export class MapStore implements IdempotencyStore, Purgeable {
  // The records end with the process. A store with a backend leaves this out, and its harness has a second client.
  readonly isVolatile = true
  readonly #records = new Map<string, StoredRecord>()
  readonly #now: () => number

  constructor({ now = Date.now }: { now?: () => number } = {}) {
    this.#now = now
  }

  async claim({ key, token, leaseMs, retainMs }: ClaimRequest): Promise<ClaimResult> {
    const now = this.#now()
    const found = this.#find(key)
    const isOurs = found?.token === token
    if (found?.state === 'completed') return { status: 'completed' }
    // A claim that was sent twice and arrives after its own release: nothing runs, so nothing may be taken.
    if (found?.state === 'released' && isOurs) return { status: 'in_flight', retryAfterMs: 1 }
    if (found?.state === 'running' && !isOurs && found.leaseUntil > now) {
      return { status: 'in_flight', retryAfterMs: found.leaseUntil - now }
    }
    const attempt = isOurs ? found.attempt : (found?.attempt ?? 0) + 1
    this.#records.set(key, {
      state: 'running',
      token,
      attempt,
      leaseUntil: now + leaseMs,
      expiresAt: now + retainMs,
    })
    return { status: 'claimed', attempt }
  }

  async renew(lease: Lease, leaseMs: number): Promise<boolean> {
    return this.#change(lease, ['running'], (record) => {
      record.leaseUntil = this.#now() + leaseMs
    })
  }

  /** An absent record is written: a store that lost it during the run must not cause a second run. */
  async complete(lease: Lease, retainMs: number): Promise<boolean> {
    const { key, token } = lease
    const now = this.#now()
    if (this.#find(key) === undefined) {
      const expiresAt = now + retainMs
      this.#records.set(key, { state: 'completed', token, attempt: 1, leaseUntil: now, expiresAt })
      return true
    }
    return this.#change(lease, ['running', 'released', 'completed'], (record) => {
      record.state = 'completed'
      record.expiresAt = now + retainMs
    })
  }

  async release(lease: Lease): Promise<boolean> {
    return this.#change(lease, ['running', 'released'], (record) => {
      record.state = 'released'
    })
  }

  /** Call it now and then: `setInterval(() => store.purge(), 300_000).unref()`. */
  async purge({ limit = 1_000 }: { limit?: number } = {}): Promise<number> {
    const now = this.#now()
    const expired = [...this.#records].filter(([, { expiresAt }]) => expiresAt <= now)
    const oldest = expired.sort(([, a], [, b]) => a.expiresAt - b.expiresAt).slice(0, limit)
    for (const [key] of oldest) this.#records.delete(key)
    return oldest.length
  }

  /** Compares the token, not the clock: a holder whose lease is over may still complete, if no other has claimed the key. */
  #change(
    { key, token }: Lease,
    states: StoredRecord['state'][],
    change: (record: StoredRecord) => void,
  ): boolean {
    const found = this.#find(key)
    if (found === undefined || found.token !== token || !states.includes(found.state)) return false
    change(found)
    return true
  }

  /** A record past its retention is absent. */
  #find(key: string): StoredRecord | undefined {
    const found = this.#records.get(key)
    return found !== undefined && found.expiresAt > this.#now() ? found : undefined
  }
}

// Proving it: what every store must do, without a test runner. With one, write
//   for (const { name, run } of storeCases) test(name, () => run(harness))
// The cases wait for nothing: `advance` makes time pass. Over a backend's own clock it moves the deadlines that are stored.
let now = Date.now()
export const harness: StoreHarness = {
  create: async () => new MapStore({ now: () => now }),
  advance: async (ms) => {
    now += ms
  },
}

export async function prove(): Promise<void> {
  for (const { name, run } of storeCases) {
    await run(harness)
    console.info(`the store ${name}`)
  }
}

// Using it: `createServer(ordersHooks(process.env.TIX_SIGNING_SECRET)).listen(3000)`.
export const ordersHooks = (secret: string | undefined) =>
  tixWebhooks({
    secret,
    store: new MapStore(),
    namespace: 'orders',
    on: {
      'order.created': async (event, ctx) => {
        console.info(`order ${event.data.order.id}, remembered as ${ctx.key}`)
      },
    },
  })
