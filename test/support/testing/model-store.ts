import type { ClaimResult, IdempotencyStore, Purgeable } from 'tix-webhooks'
import type { StoreHarness } from 'tix-webhooks/testing'
import {
  isLive,
  type KeyedCall,
  type KeyRecord,
  transition,
} from '../../../testing/store-cases/transition.js'
import { type Patch, patched } from './patched.js'

/** The records of a backend, and its clock. */
export interface ModelBackend {
  readonly records: Map<string, KeyRecord>
  nowMs: number
}

/** A store that is right, in the parts that a fault can replace. */
export interface ModelStore extends IdempotencyStore, Purgeable {
  readonly records: Map<string, KeyRecord>
  now(): number
  keyOf(key: string): string
  tokenOf(token: string): string
  /** The record after a call, and the answer. */
  decide(
    record: KeyRecord | undefined,
    call: KeyedCall,
    now: number,
  ): { readonly record: KeyRecord | undefined; readonly answer: unknown }
  mayPurge(record: KeyRecord, now: number): boolean
}

export function createBackend(): ModelBackend {
  return { records: new Map(), nowMs: 0 }
}

/** A client of the backend. */
export function modelStore(backend: ModelBackend, patch: Patch<ModelStore> = () => ({})): ModelStore {
  const { records } = backend
  async function answer<Answer>(call: KeyedCall): Promise<Answer> {
    const key = store.keyOf(call.key)
    const token = store.tokenOf(call.token)
    const { record, answer } = store.decide(records.get(key), { ...call, token }, store.now())
    if (record === undefined) records.delete(key)
    else records.set(key, record)
    return answer as Answer
  }
  const store: ModelStore = {
    records,
    now: () => backend.nowMs,
    keyOf: (key) => key,
    tokenOf: (token) => token,
    decide: transition,
    mayPurge: (record, now) => !isLive(record, now),
    claim: (request) => answer<ClaimResult>({ do: 'claim', ...request }),
    renew: (lease, leaseMs) => answer<boolean>({ do: 'renew', ...lease, leaseMs }),
    complete: (lease, retainMs) => answer<boolean>({ do: 'complete', ...lease, retainMs }),
    release: (lease) => answer<boolean>({ do: 'release', ...lease }),
    async purge({ limit = Infinity } = {}) {
      const old = [...records].filter(([, record]) => store.mayPurge(record, store.now())).slice(0, limit)
      for (const [key] of old) records.delete(key)
      return old.length
    },
  }
  return patched(store, patch)
}

/** A harness for stores whose clock is moved by hand: its clients share the records and that clock, and nothing else. */
export function storeHarness(patch?: Patch<ModelStore>): StoreHarness {
  let backend = createBackend()
  return {
    async create() {
      backend = createBackend()
      return modelStore(backend, patch)
    },
    createSecond: async () => modelStore(backend, patch),
    async advance(ms) {
      backend.nowMs += ms
    },
  }
}
