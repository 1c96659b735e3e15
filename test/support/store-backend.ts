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

/** The same object, with calls and answers that take a while to arrive, as over a network. */
export function delayed<Target extends object>(target: Target): Target {
  return new Proxy(target, {
    get: (_, name) => {
      const method: unknown = Reflect.get(target, name)
      if (typeof method !== 'function') return method
      return async (...args: unknown[]) => {
        await someTurns()
        const answer = await method.apply(target, args)
        await someTurns()
        return answer
      }
    },
  })
}

/** A few turns of the event loop, so that calls overtake one another. */
function someTurns(): Promise<void> {
  return turns(1 + Math.floor(Math.random() * 3))
}
