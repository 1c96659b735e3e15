import type { ClaimRequest, ClaimResult, Lease } from 'tix-webhooks'
import { turns } from '../promises.js'
import type { Fault } from './faulty-stores.js'
import { type PlainRecord, PlainStore } from './plain-store.js'

/** What `Date.now` returns without a fake clock. */
const { now: rightNow } = Date

/** Its calls wait for one another, but not for those of another process. */
class MutexStore extends PlainStore {
  #last: Promise<unknown> = Promise.resolve()

  alone<T>(call: () => Promise<T>): Promise<T> {
    const done = this.#last.then(() => turns(1)).then(call)
    this.#last = done
    return done
  }

  /** Decides on what it has read, and writes it a turn later. */
  async readThenWrite<T>(key: string, call: () => Promise<T>): Promise<T> {
    const found = this.find(key)
    const seen = found && { ...found }
    await turns(1)
    if (seen === undefined) this.records.delete(key)
    else this.records.set(key, seen)
    return call()
  }
}

/** Can take the clock of the process that calls it for that of the backend. */
class CallersClock extends PlainStore {
  byCaller<T>(call: () => T): T {
    const aheadMs = Date.now() - rightNow()
    this.now += aheadMs
    try {
      return call()
    } finally {
      this.now -= aheadMs
    }
  }
}

/** A store whose purge deletes more than it may. */
function purgesToo(
  fault: string,
  seenBy: readonly string[],
  isPurged: (record: PlainRecord, now: number) => boolean,
): Fault {
  const Store = class extends PlainStore {
    override mayPurge(record: PlainRecord): boolean {
      return super.mayPurge(record) || isPurged(record, this.now)
    }
  }
  return { fault, seenBy, Store }
}

/** Faults that show between the processes of one backend, and those of a purge. */
export const FAULTY_CLIENTS: readonly Fault[] = [
  {
    fault: 'is atomic in one process only',
    seenBy: ['race-fresh', 'race-takeover', 'race-released'],
    Store: class extends MutexStore {
      override claim(request: ClaimRequest): Promise<ClaimResult> {
        return this.alone(() => this.readThenWrite(request.key, () => super.claim(request)))
      }
    },
  },
  {
    fault: 'has a mutex of one process around its settling',
    seenBy: ['race-settle', 'race-late-renew'],
    Store: class extends MutexStore {
      override claim(request: ClaimRequest): Promise<ClaimResult> {
        return this.alone(() => super.claim(request))
      }

      override renew(lease: Lease, leaseMs: number): Promise<boolean> {
        return this.alone(() => this.readThenWrite(lease.key, () => super.renew(lease, leaseMs)))
      }

      override complete(lease: Lease, retainMs: number): Promise<boolean> {
        return this.alone(() => this.readThenWrite(lease.key, () => super.complete(lease, retainMs)))
      }

      override release(lease: Lease): Promise<boolean> {
        return this.alone(() => this.readThenWrite(lease.key, () => super.release(lease)))
      }
    },
  },
  {
    fault: 'releases only what its own process has claimed',
    seenBy: ['client-records'],
    Store: class extends PlainStore {
      readonly #claimed = new Set<string>()

      override grant(request: ClaimRequest, attempt: number): ClaimResult {
        this.#claimed.add(request.token)
        return super.grant(request, attempt)
      }

      override async release(lease: Lease): Promise<boolean> {
        return this.#claimed.has(lease.token) && super.release(lease)
      }
    },
  },
  {
    fault: "computes everything by the caller's clock",
    seenBy: ['clock-ahead', 'clock-behind'],
    Store: class extends CallersClock {
      override async claim(request: ClaimRequest): Promise<ClaimResult> {
        return this.byCaller(() => super.claim(request))
      }

      override async renew(lease: Lease, leaseMs: number): Promise<boolean> {
        return this.byCaller(() => super.renew(lease, leaseMs))
      }

      override async complete(lease: Lease, retainMs: number): Promise<boolean> {
        return this.byCaller(() => super.complete(lease, retainMs))
      }
    },
  },
  {
    fault: "computes the retention of what is completed by the caller's clock",
    seenBy: ['clock-ahead', 'clock-behind'],
    Store: class extends CallersClock {
      override async complete(lease: Lease, retainMs: number): Promise<boolean> {
        return this.byCaller(() => super.complete(lease, retainMs))
      }
    },
  },
  {
    fault: "purges by the caller's clock",
    seenBy: ['clock-ahead'],
    Store: class extends CallersClock {
      override async purge(): Promise<number> {
        return this.byCaller(() => super.purge())
      }
    },
  },
  {
    fault: 'reads that there is no record, then writes a completion',
    seenBy: ['race-absent-complete'],
    Store: class extends PlainStore {
      override async complete(lease: Lease, retainMs: number): Promise<boolean> {
        if (this.find(lease.key) !== undefined) return super.complete(lease, retainMs)
        await turns(1)
        this.writeCompletion(lease, retainMs)
        return true
      }
    },
  },
  {
    fault: "computes the retention of a completion without a record by the caller's clock",
    seenBy: ['clock-behind'],
    Store: class extends CallersClock {
      override async complete(lease: Lease, retainMs: number): Promise<boolean> {
        if (this.find(lease.key) !== undefined) return super.complete(lease, retainMs)
        this.byCaller(() => this.writeCompletion(lease, retainMs))
        return true
      }
    },
  },
  purgesToo('purges what is running', ['purge-running'], ({ state }) => state === 'running'),
  purgesToo(
    'purges what is running when its lease is over',
    ['purge-running'],
    ({ state, leaseUntil }, now) => state === 'running' && leaseUntil <= now,
  ),
  purgesToo('purges what is released', ['purge-released'], ({ state }) => state === 'released'),
  purgesToo('purges what is completed', ['purge-completed'], ({ state }) => state === 'completed'),
  {
    fault: 'reads what is over, then purges it',
    seenBy: ['race-purge'],
    Store: class extends PlainStore {
      override async purge(): Promise<number> {
        const keys = [...this.records].filter(([, record]) => this.mayPurge(record)).map(([key]) => key)
        await turns(1)
        for (const key of keys) this.records.delete(key)
        return keys.length
      }
    },
  },
]
