import type { IdempotencyStore, LedgerStore, Purgeable } from 'tix-webhooks'
import type { LedgerHarness } from 'tix-webhooks/testing'
import { memoryLedger } from '../../../src/ledger/memory/memory-ledger.js'
import {
  type EventRow,
  isLive,
  type LedgerTime,
  type Transition,
  transition,
} from '../../../src/ledger/transition.js'
import type { KeyedCall } from '../../../testing/store-cases/model.js'
import { type Patch, patched } from './patched.js'

/** The rows of a backend, and its clock. */
interface ModelBackend {
  readonly rows: Map<string, EventRow>
  nowMs: number
}

/** A ledger that is right, in the parts that a fault can replace. */
export interface ModelStore extends LedgerStore, Purgeable {
  readonly rows: Map<string, EventRow>
  now(): number
  keyOf(key: string): string
  tokenOf(token: string): string
  /** The row after a call, and the answer. */
  decide(row: EventRow | undefined, call: KeyedCall, now: number): Transition<unknown>
  mayPurge(row: EventRow, now: number): boolean
}

export function createBackend(): ModelBackend {
  return { rows: new Map(), nowMs: 0 }
}

export const at = (now: number): LedgerTime => ({ now, leaseNow: now })

/** What is right. */
export function decided(row: EventRow | undefined, call: KeyedCall, now: number): Transition {
  return transition(row, call, at(now))
}

/** A client of the backend. */
export function modelStore(backend: ModelBackend, patch: Patch<ModelStore> = () => ({})): ModelStore {
  const { rows } = backend
  async function answer<Answer>(call: KeyedCall): Promise<Answer> {
    const key = store.keyOf(call.key)
    const token = 'token' in call ? { token: store.tokenOf(call.token) } : {}
    const { row, answer } = store.decide(rows.get(key), { ...call, ...token }, store.now())
    if (row === undefined) rows.delete(key)
    else rows.set(key, row)
    return answer as Answer
  }
  const copyOf = <Failed extends { readonly rawBody: Uint8Array }>(failed: Failed): Failed => ({
    ...failed,
    rawBody: failed.rawBody.slice(),
  })
  const store: ModelStore = {
    rows,
    now: () => backend.nowMs,
    keyOf: (key) => key,
    tokenOf: (token) => token,
    decide: decided,
    mayPurge: (row, now) => !isLive(row, at(now)),
    claim: (request) => answer({ do: 'claim', ...request }),
    renew: (lease, leaseMs) => answer({ do: 'renew', ...lease, leaseMs }),
    complete: (lease, retainMs, discarded) => answer({ do: 'complete', ...lease, retainMs, discarded }),
    release: (lease) => answer({ do: 'release', ...lease }),
    fail: (lease, failed) => answer({ do: 'fail', ...lease, failed: copyOf(failed) }),
    keep: (failed) => answer({ do: 'keep', key: failed.key, failed: copyOf(failed) }),
    async forget(key) {
      const found = rows.get(store.keyOf(key))
      rows.delete(store.keyOf(key))
      return isLive(found, at(store.now()))
    },
    async purge({ limit = Infinity } = {}) {
      const old = [...rows].filter(([, row]) => store.mayPurge(row, store.now())).slice(0, limit)
      for (const [key] of old) rows.delete(key)
      return old.length
    },
    ledger: memoryLedger({
      rows: () => [...rows].map(([key, row]) => ({ key, row })),
      rowOf: (key) => rows.get(store.keyOf(key)),
      timeNow: () => at(store.now()),
      // A store in memory is synchronous.
      discard(key, reason) {
        const { row, answer } = store.decide(
          rows.get(store.keyOf(key)),
          { do: 'discard', key, reason },
          store.now(),
        )
        if (row !== undefined) rows.set(store.keyOf(key), row)
        return answer as 'discarded'
      },
    }),
  }
  return patched(store, patch)
}

/** What every store has. */
function alone({ claim, renew, complete, release, purge }: ModelStore): IdempotencyStore & Purgeable {
  return { claim, renew, complete, release, purge }
}

/** A harness for ledgers whose clock is moved by hand: its clients share the rows and that clock, and nothing else. */
export function ledgerHarness(patch?: Patch<ModelStore>) {
  let backend = createBackend()
  return {
    async create() {
      backend = createBackend()
      return modelStore(backend, patch)
    },
    createSecond: async () => modelStore(backend, patch),
    async advance(ms: number) {
      backend.nowMs += ms
    },
  } satisfies LedgerHarness
}

/** The same for stores that are no ledgers. */
export function storeHarness(patch?: Patch<ModelStore>) {
  const { create, createSecond, advance } = ledgerHarness(patch)
  return {
    create: async () => alone(await create()),
    createSecond: async () => alone(await createSecond()),
    advance,
  }
}
