import type { Lease } from 'tix-webhooks'
import type { Fault } from './faulty-stores.js'
import { PlainStore } from './plain-store.js'

/** Faults of `renew`, `complete` and `release`. */
export const FAULTY_HOLDING: readonly Fault[] = [
  {
    fault: 'adds a renewal to what is left',
    seenBy: ['renew-holder'],
    Store: class extends PlainStore {
      override async renew(lease: Lease, leaseMs: number): Promise<boolean> {
        return this.change(lease, ['running'], (record) => {
          record.leaseUntil += leaseMs
        })
      }
    },
  },
  {
    fault: 'says true to a renewal and does nothing',
    seenBy: ['renew-holder'],
    Store: class extends PlainStore {
      override async renew(lease: Lease): Promise<boolean> {
        return this.change(lease, ['running'], () => {})
      }
    },
  },
  {
    fault: 'gives the number of changed rows',
    seenBy: ['renew-holder'],
    Store: class extends PlainStore {
      override async renew(lease: Lease, leaseMs: number): Promise<boolean> {
        return Number(await super.renew(lease, leaseMs)) as unknown as boolean
      }
    },
  },
  {
    fault: 'never shortens a lease',
    seenBy: ['renew-shorter'],
    Store: class extends PlainStore {
      override async renew(lease: Lease, leaseMs: number): Promise<boolean> {
        return this.change(lease, ['running'], (record) => {
          record.leaseUntil = Math.max(record.leaseUntil, this.now + leaseMs)
        })
      }
    },
  },
  {
    fault: 'renews by the clock',
    seenBy: ['renew-late'],
    Store: class extends PlainStore {
      override async renew(lease: Lease, leaseMs: number): Promise<boolean> {
        const record = this.find(lease.key)
        return record !== undefined && this.isLive(record) ? super.renew(lease, leaseMs) : false
      }
    },
  },
  {
    fault: 'renews with any token',
    seenBy: ['renew-stranger'],
    Store: class extends PlainStore {
      override async renew(lease: Lease, leaseMs: number): Promise<boolean> {
        const token = this.find(lease.key)?.token ?? lease.token
        return super.renew({ ...lease, token }, leaseMs)
      }
    },
  },
  {
    fault: 'renews with any token, but says that it did not',
    seenBy: ['renew-taken-over'],
    Store: class extends PlainStore {
      override async renew(lease: Lease, leaseMs: number): Promise<boolean> {
        const record = this.find(lease.key)
        if (record?.state === 'running') record.leaseUntil = this.now + leaseMs
        return record?.state === 'running' && record.token === lease.token
      }
    },
  },
  {
    fault: 'renews by claiming',
    seenBy: ['renew-released'],
    Store: class extends PlainStore {
      override async renew(lease: Lease, leaseMs: number): Promise<boolean> {
        if (this.find(lease.key)?.state !== 'released') return super.renew(lease, leaseMs)
        this.grant({ ...lease, leaseMs, retainMs: 10 * leaseMs }, 1)
        return true
      }
    },
  },
  {
    fault: 'takes a completed record back for a renewal',
    seenBy: ['renew-completed'],
    Store: class extends PlainStore {
      override async renew(lease: Lease, leaseMs: number): Promise<boolean> {
        return this.change(lease, ['running', 'completed'], (record) => {
          record.state = 'running'
          record.leaseUntil = this.now + leaseMs
        })
      }
    },
  },
  {
    fault: 'makes a record for a renewal',
    seenBy: ['renew-absent'],
    Store: class extends PlainStore {
      override async renew(lease: Lease, leaseMs: number): Promise<boolean> {
        if (this.find(lease.key) !== undefined) return super.renew(lease, leaseMs)
        this.grant({ ...lease, leaseMs, retainMs: leaseMs }, 1)
        return true
      }
    },
  },
  {
    fault: 'says false to a complete that is sent again',
    seenBy: ['complete-resent'],
    Store: class extends PlainStore {
      override async complete(lease: Lease, retainMs: number): Promise<boolean> {
        return this.find(lease.key)?.state === 'running' ? super.complete(lease, retainMs) : false
      }
    },
  },
  {
    fault: 'completes by the clock',
    seenBy: ['complete-late'],
    Store: class extends PlainStore {
      override async complete(lease: Lease, retainMs: number): Promise<boolean> {
        const record = this.find(lease.key)
        return record !== undefined && this.isLive(record) ? super.complete(lease, retainMs) : false
      }
    },
  },
  {
    fault: 'completes with any token',
    seenBy: ['complete-stranger'],
    Store: class extends PlainStore {
      override async complete(lease: Lease, retainMs: number): Promise<boolean> {
        const token = this.find(lease.key)?.token ?? lease.token
        return super.complete({ ...lease, token }, retainMs)
      }
    },
  },
  {
    fault: 'ends the lease for a complete of the old holder, though it says false',
    seenBy: ['complete-taken-over'],
    Store: class extends PlainStore {
      override async complete(lease: Lease, retainMs: number): Promise<boolean> {
        const isCompleted = await super.complete(lease, retainMs)
        const record = this.find(lease.key)
        if (!isCompleted && record !== undefined) record.leaseUntil = this.now
        return isCompleted
      }
    },
  },
  {
    fault: 'completes what its token has released',
    seenBy: ['complete-released'],
    Store: class extends PlainStore {
      override async complete(lease: Lease, retainMs: number): Promise<boolean> {
        return this.change(lease, ['running', 'completed', 'released'], (record) => {
          record.state = 'completed'
          record.expiresAt = this.now + retainMs
        })
      }
    },
  },
  {
    fault: 'refuses a completion of which it has no record',
    seenBy: ['complete-absent'],
    Store: class extends PlainStore {
      override writeCompletion(): void {}
    },
  },
  {
    fault: 'says true to a completion of which it has no record, and writes nothing',
    seenBy: ['complete-absent'],
    Store: class extends PlainStore {
      override async complete(lease: Lease, retainMs: number): Promise<boolean> {
        return this.find(lease.key) === undefined || super.complete(lease, retainMs)
      }
    },
  },
  {
    fault: 'takes a record whose lease has run out for one that is gone',
    seenBy: ['complete-absent-taken'],
    Store: class extends PlainStore {
      override async complete(lease: Lease, retainMs: number): Promise<boolean> {
        const record = this.find(lease.key)
        if (record?.state === 'running' && !this.isLive(record)) this.writeCompletion(lease, retainMs)
        return super.complete(lease, retainMs)
      }
    },
  },
  {
    fault: 'takes a released record for one that is gone',
    seenBy: ['complete-absent-taken'],
    Store: class extends PlainStore {
      override async complete(lease: Lease, retainMs: number): Promise<boolean> {
        const record = this.find(lease.key)
        if (record?.state === 'released' && record.token !== lease.token)
          this.writeCompletion(lease, retainMs)
        return super.complete(lease, retainMs)
      }
    },
  },
  {
    fault: 'deletes what is released',
    seenBy: ['claim-released'],
    Store: class extends PlainStore {
      override async release(lease: Lease): Promise<boolean> {
        return this.change(lease, ['running'], () => this.records.delete(lease.key))
      }
    },
  },
  {
    fault: 'says false to a release that is sent again',
    seenBy: ['release-resent'],
    Store: class extends PlainStore {
      override async release(lease: Lease): Promise<boolean> {
        return this.find(lease.key)?.state === 'running' ? super.release(lease) : false
      }
    },
  },
  {
    fault: 'releases by the clock',
    seenBy: ['release-late'],
    Store: class extends PlainStore {
      override async release(lease: Lease): Promise<boolean> {
        const record = this.find(lease.key)
        return record !== undefined && this.isLive(record) ? super.release(lease) : false
      }
    },
  },
  {
    fault: 'releases with any token',
    seenBy: ['release-stranger'],
    Store: class extends PlainStore {
      override async release(lease: Lease): Promise<boolean> {
        return super.release({ ...lease, token: this.find(lease.key)?.token ?? lease.token })
      }
    },
  },
  {
    fault: 'releases for every token that has held the record',
    seenBy: ['release-taken-over'],
    Store: class extends PlainStore {
      readonly #captured = new Set<string>()

      override async release(lease: Lease): Promise<boolean> {
        const record = this.find(lease.key)
        if (record === undefined || record.state === 'completed') return false
        if (record.token !== lease.token && !this.#captured.has(lease.token)) return false
        this.#captured.add(lease.token)
        record.state = 'released'
        return true
      }
    },
  },
  {
    fault: 'releases what is completed',
    seenBy: ['release-completed'],
    Store: class extends PlainStore {
      override async release(lease: Lease): Promise<boolean> {
        return this.change(lease, ['running', 'released', 'completed'], (record) => {
          record.state = 'released'
        })
      }
    },
  },
  {
    fault: 'says true to the release of what is not there, which a DELETE would',
    seenBy: ['release-absent'],
    Store: class extends PlainStore {
      override async release(lease: Lease): Promise<boolean> {
        return this.find(lease.key) === undefined || super.release(lease)
      }
    },
  },
]
