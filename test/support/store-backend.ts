import { type IdempotencyStore, type MemoryStore, memoryStore } from 'tix-webhooks'
import { turns } from './promises.js'

/** The backend of the records, and a test's access to it. */
export interface StoreBackend<Store extends IdempotencyStore = IdempotencyStore> {
  readonly name: string
  /** A client: all of them see the same records. */
  create(): Promise<Store>
  /** A client of another process; absent if the records end with this one. */
  createSecond?(): Promise<Store>
  /** Advances the clock of all records. Never called during a call of the store. */
  advance(ms: number): Promise<void>
}

export type PurgingStore = IdempotencyStore & {
  purge(options: { limit: number }): Promise<number>
}

/** The memory store with clients whose calls and replies take a while to arrive, as over a network. */
export function memoryBackend(): StoreBackend<MemoryStore> {
  let now = 0
  const store = memoryStore({ now: () => now })
  return {
    name: 'memoryStore',
    create: async () => delayed(store),
    createSecond: async () => delayed(store),
    advance: async (ms) => {
      now += ms
    },
  }
}

function delayed(store: MemoryStore): MemoryStore {
  async function deliver<T>(send: () => T | Promise<T>): Promise<T> {
    await someTurns()
    const answer = await send()
    await someTurns()
    return answer
  }
  return {
    claim: (request) => deliver(() => store.claim(request)),
    renew: (lease, leaseMs) => deliver(() => store.renew(lease, leaseMs)),
    complete: (lease, retainMs) => deliver(() => store.complete(lease, retainMs)),
    release: (lease) => deliver(() => store.release(lease)),
    isHandled: (key) => deliver(() => store.isHandled(key)),
  }
}

/** A few turns of the event loop, so that calls overtake one another. */
export function someTurns(): Promise<void> {
  return turns(1 + Math.floor(Math.random() * 3))
}
