import type { ClaimRequest, ClaimResult, IdempotencyStore, Lease } from 'tix-webhooks'
import type { StoreHarness } from 'tix-webhooks/testing'
import { turns } from '../promises.js'
import type { PlainRecord } from './plain-store.js'

interface Item extends Readonly<PlainRecord> {
  readonly version: number
}

/** A table that reads an item, and writes it if its version is still the one that was read, as DynamoDB does. It has no clock. */
class ConditionalTable {
  readonly #items = new Map<string, Item>()

  async get(key: string): Promise<Item | undefined> {
    await someTurns()
    const item = this.#items.get(key)
    await someTurns()
    return item
  }

  /** @returns whether it was written */
  async put(key: string, record: PlainRecord, version: number | undefined): Promise<boolean> {
    await someTurns()
    const isSame = this.#items.get(key)?.version === version
    if (isSame) this.#items.set(key, { ...record, version: (version ?? 0) + 1 })
    await someTurns()
    return isSame
  }

  /** Deletes what is past its retention: one conditional delete for each item. */
  async sweep(now: number): Promise<void> {
    const old = [...this.#items].filter(([, { expiresAt }]) => expiresAt <= now)
    for (const [key, { version }] of old) {
      await someTurns()
      if (this.#items.get(key)?.version === version) this.#items.delete(key)
    }
  }
}

/** What a call does to the record that it has read: writes another if it says so, and returns the answer. */
type Decision<Answer> = { readonly answer: Answer; readonly record?: PlainRecord }

/** A store in which each decision is a read and one conditional write, made again when the write finds another version. */
class VersionedStore implements IdempotencyStore {
  /** The most trips to the table that one call has made. */
  mostTrips = 0
  readonly #table: ConditionalTable
  readonly #now: () => number

  constructor(table: ConditionalTable, now: () => number) {
    this.#table = table
    this.#now = now
  }

  claim({ key, token, leaseMs, retainMs }: ClaimRequest): Promise<ClaimResult> {
    return this.#decide<ClaimResult>(key, (found, isAgain) => {
      const now = this.#now()
      if (found?.state === 'completed') return { answer: { status: 'completed' } }
      const isOwn = found?.token === token
      if (found?.state === 'released' && isOwn) return { answer: { status: 'in_flight', retryAfterMs: 1 } }
      if (found?.state === 'running' && !isOwn && found.leaseUntil > now) {
        return { answer: { status: 'in_flight', retryAfterMs: found.leaseUntil - now } }
      }
      const attempt = isOwn ? found.attempt : (found?.attempt ?? 0) + 1
      const answer = { status: 'claimed', attempt } as const
      // The same claim, sent twice, has written its lease meanwhile.
      if (isOwn && isAgain) return { answer }
      return {
        answer,
        record: { state: 'running', token, attempt, leaseUntil: now + leaseMs, expiresAt: now + retainMs },
      }
    })
  }

  renew({ key, token }: Lease, leaseMs: number): Promise<boolean> {
    return this.#decide(key, (found) =>
      found?.state === 'running' && found.token === token
        ? { answer: true, record: { ...found, leaseUntil: this.#now() + leaseMs } }
        : { answer: false },
    )
  }

  complete({ key, token }: Lease, retainMs: number): Promise<boolean> {
    return this.#decide(key, (found) => {
      const now = this.#now()
      const { attempt, leaseUntil } = found ?? { attempt: 1, leaseUntil: now }
      if (found !== undefined && (found.token !== token || found.state === 'released'))
        return { answer: false }
      return {
        answer: true,
        record: { state: 'completed', token, attempt, leaseUntil, expiresAt: now + retainMs },
      }
    })
  }

  release({ key, token }: Lease): Promise<boolean> {
    return this.#decide(key, (found) =>
      found !== undefined && found.token === token && found.state !== 'completed'
        ? { answer: true, record: { ...found, state: 'released' } }
        : { answer: false },
    )
  }

  async #decide<Answer>(
    key: string,
    decide: (found: Item | undefined, isAgain: boolean) => Decision<Answer>,
  ): Promise<Answer> {
    for (let trips = 1; ; trips += 2) {
      const item = await this.#table.get(key)
      const found = item !== undefined && item.expiresAt > this.#now() ? item : undefined
      const { answer, record } = decide(found, trips > 1)
      this.mostTrips = Math.max(this.mostTrips, record === undefined ? trips : trips + 1)
      if (record === undefined || (await this.#table.put(key, record, item?.version))) return answer
    }
  }
}

/** Two clients of one table, with the clock of the harness. */
export function versionedHarness(): StoreHarness & { mostTrips(): number } {
  const table = new ConditionalTable()
  const stores: VersionedStore[] = []
  let now = 0
  async function create(): Promise<VersionedStore> {
    const store = new VersionedStore(table, () => now)
    stores.push(store)
    return store
  }
  return {
    create,
    createSecond: create,
    purge: () => table.sweep(now),
    advance: async (ms) => {
      now += ms
    },
    mostTrips: () => Math.max(...stores.map(({ mostTrips }) => mostTrips)),
  }
}

/** Calls overtake one another. */
function someTurns(): Promise<void> {
  return turns(Math.floor(Math.random() * 2))
}
