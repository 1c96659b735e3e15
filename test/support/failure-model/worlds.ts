import { type IdempotencyStore, memoryFailures, memoryStore } from 'tix-webhooks'
import { describe } from 'vitest'
import { honestInbox, type Ledger } from '../honest-inbox.js'
import { MYSQL_WORLDS } from './mysql-worlds.js'
import { POSTGRES_WORLDS } from './postgres-worlds.js'
import { SQLITE_WORLDS } from './sqlite-worlds.js'
import type { World } from './world.js'

/** A world, and whether it is available. */
export interface WorldKind {
  readonly name: string
  readonly describe: typeof describe | ReturnType<typeof describe.skipIf>
  /** How many histories: a server takes longer for one. */
  readonly runs: number
  open(): Promise<World>
}

/** More than a lease. */
const LEASES_END_MS = 2 * 60_000

function openMemory(asStore: (store: IdempotencyStore) => IdempotencyStore): () => Promise<World> {
  return async () => {
    let now = 0
    const store = memoryStore({ now: () => now })
    const effects: string[] = []
    return {
      name: 'memoryStore',
      failures: memoryFailures({ maxKeys: 1_000_000 }),
      records: store,
      guard: { store: asStore(store) },
      isJoined: false,
      effect: (_, effect) => effects.push(effect),
      effects: async () => effects,
      endLeases: async () => {
        now += LEASES_END_MS
      },
      close: async () => {},
    }
  }
}

/** As a remote store: it answers later, and survives the process. */
function remote(store: IdempotencyStore): IdempotencyStore {
  return {
    claim: async (request) => store.claim(request),
    renew: async (lease, leaseMs) => store.renew(lease, leaseMs),
    complete: async (lease, retainMs) => store.complete(lease, retainMs),
    release: async (lease) => store.release(lease),
  }
}

async function openInboxBeside(): Promise<World> {
  const { inbox, effects, records } = honestInbox()
  return {
    name: 'an inbox of another database',
    failures: memoryFailures({ maxKeys: 1_000_000 }),
    records: { isHandled: async (key) => records.has(key) },
    guard: { inbox: inbox as never },
    isJoined: false,
    effect: (tx, effect) => (tx as Ledger).write(effect),
    effects: async () => effects,
    endLeases: async () => {},
    close: async () => {},
  }
}

export const WORLDS: readonly WorldKind[] = [
  { name: 'memoryStore', describe, runs: 20, open: openMemory((store) => store) },
  { name: 'a remote store', describe, runs: 20, open: openMemory(remote) },
  { name: 'an inbox of another database', describe, runs: 20, open: openInboxBeside },
  ...SQLITE_WORLDS,
  ...POSTGRES_WORLDS,
  ...MYSQL_WORLDS,
]
