import type { StoreHarness } from 'tix-webhooks/testing'
import type { PlainStore } from './plain-store.js'

/** A store with one fault, and the cases that must see it. */
export interface Fault {
  readonly fault: string
  readonly seenBy: readonly string[]
  readonly Store: new () => PlainStore
}

/** A harness for stores whose clock is moved by hand. */
export function harnessOf(Store: new () => PlainStore): StoreHarness {
  const stores: PlainStore[] = []
  return {
    async create() {
      const store = new Store()
      stores.push(store)
      return store
    },
    async advance(ms) {
      for (const store of stores) store.now += ms
    },
  }
}
