import type { StoreHarness } from 'tix-webhooks/testing'
import type { PlainStore } from './plain-store.js'

/** A store with one fault, and the cases that must see it. */
export interface Fault {
  readonly fault: string
  readonly seenBy: readonly string[]
  readonly Store: new () => PlainStore
}

/** A harness for stores whose clock is moved by hand: two clients share their records and that clock, and nothing else. */
export function harnessOf(Store: new () => PlainStore): StoreHarness {
  const stores: PlainStore[] = []
  async function create(): Promise<PlainStore> {
    const store = new Store()
    stores.push(store)
    return store
  }
  return {
    create,
    async createSecond() {
      const first = stores.at(-1)
      const store = await create()
      return Object.assign(store, { now: first?.now, records: first?.records })
    },
    async advance(ms) {
      for (const store of stores) store.now += ms
    },
  }
}
