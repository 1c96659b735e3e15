import type { ClaimRequest, ClaimResult, Lease } from 'tix-webhooks'
import type { Fault } from './faulty-stores.js'
import { type PlainRecord, PlainStore } from './plain-store.js'

const MINUTE = 60_000
const MAX_INT = 2 ** 31 - 1

/** A store that forgets nothing, unless a subclass does. */
class EternalStore extends PlainStore {
  override find(key: string): PlainRecord | undefined {
    return this.records.get(this.keyOf(key))
  }
}

/** Faults in how long records are kept. */
export const FAULTY_RETENTION: readonly Fault[] = [
  {
    fault: 'counts the retention from the claim',
    seenBy: ['retention-completion'],
    Store: class extends PlainStore {
      override async complete(lease: Lease): Promise<boolean> {
        return this.change(lease, ['running', 'completed'], (record) => {
          record.state = 'completed'
        })
      }
    },
  },
  {
    fault: 'adds the retention to what is left',
    seenBy: ['retention-over'],
    Store: class extends PlainStore {
      override async complete(lease: Lease, retainMs: number): Promise<boolean> {
        return this.change(lease, ['running', 'completed'], (record) => {
          record.state = 'completed'
          record.expiresAt += retainMs
        })
      }
    },
  },
  {
    fault: 'forgets nothing',
    seenBy: ['retention-over'],
    Store: EternalStore,
  },
  {
    fault: 'goes on counting attempts after the retention',
    seenBy: ['retention-over'],
    Store: class extends EternalStore {
      override async claim(request: ClaimRequest): Promise<ClaimResult> {
        const record = this.find(request.key)
        if (record === undefined || record.expiresAt > this.now) return super.claim(request)
        return this.grant(request, record.attempt + 1)
      }
    },
  },
  {
    fault: 'keeps the old lease when it grants a record past its retention',
    seenBy: ['retention-over'],
    Store: class extends PlainStore {
      override grant(request: ClaimRequest, attempt: number): ClaimResult {
        const old = this.records.get(request.key)
        const answer = super.grant(request, attempt)
        const record = this.records.get(request.key)
        if (old !== undefined && old.expiresAt <= this.now && record !== undefined)
          record.leaseUntil = old.leaseUntil
        return answer
      }
    },
  },
  {
    fault: 'keeps everything for as long as its first claim said',
    seenBy: ['retention-terms'],
    Store: class extends PlainStore {
      #retainMs: number | undefined

      override grant(request: ClaimRequest, attempt: number): ClaimResult {
        this.#retainMs ??= request.retainMs
        return super.grant(request, attempt)
      }

      override complete(lease: Lease, retainMs: number): Promise<boolean> {
        return super.complete(lease, this.#retainMs ?? retainMs)
      }
    },
  },
  {
    fault: 'keeps a completed record longer for each duplicate',
    seenBy: ['retention-duplicate'],
    Store: class extends PlainStore {
      override answerCompleted(record: PlainRecord, { retainMs }: ClaimRequest): ClaimResult {
        record.expiresAt = this.now + retainMs
        return { status: 'completed' }
      }
    },
  },
  {
    fault: 'keeps a record longer for a complete that it answers with false',
    seenBy: ['retention-strangers'],
    Store: class extends PlainStore {
      override async complete(lease: Lease, retainMs: number): Promise<boolean> {
        const record = this.find(lease.key)
        if (record !== undefined) record.expiresAt = this.now + retainMs
        return super.complete(lease, retainMs)
      }
    },
  },
  {
    fault: 'keeps the first retention when complete is sent again',
    seenBy: ['retention-resent'],
    Store: class extends PlainStore {
      override async complete(lease: Lease, retainMs: number): Promise<boolean> {
        const record = this.find(lease.key)
        return (
          (record?.state === 'completed' && record.token === lease.token) || super.complete(lease, retainMs)
        )
      }
    },
  },
  {
    fault: 'counts the retention of an unfinished record from its first claim',
    seenBy: ['retention-takeover'],
    Store: class extends PlainStore {
      override grant(request: ClaimRequest, attempt: number): ClaimResult {
        const until = this.find(request.key)?.expiresAt
        return super.grant(
          { ...request, retainMs: until === undefined ? request.retainMs : until - this.now },
          attempt,
        )
      }
    },
  },
  {
    fault: 'keeps the retention when the claim is sent again',
    seenBy: ['retention-resent-claim'],
    Store: class extends PlainStore {
      override repeat(request: ClaimRequest, record: PlainRecord): ClaimResult {
        return this.grant({ ...request, retainMs: record.expiresAt - this.now }, record.attempt)
      }
    },
  },
  {
    fault: 'lets a record expire with its renewed lease',
    seenBy: ['retention-renewal'],
    Store: class extends PlainStore {
      override async renew(lease: Lease, leaseMs: number): Promise<boolean> {
        return this.change(lease, ['running'], (record) => {
          record.leaseUntil = this.now + leaseMs
          record.expiresAt = this.now + leaseMs
        })
      }
    },
  },
  {
    fault: 'keeps a record longer for a renewal',
    seenBy: ['retention-renewal'],
    Store: class extends PlainStore {
      override async renew(lease: Lease, leaseMs: number): Promise<boolean> {
        return this.change(lease, ['running'], (record) => {
          record.leaseUntil = this.now + leaseMs
          record.expiresAt = this.now + 1000 * MINUTE
        })
      }
    },
  },
  {
    fault: 'keeps a held record longer for each claim',
    seenBy: ['retention-held'],
    Store: class extends PlainStore {
      override answerHeld(record: PlainRecord, request: ClaimRequest): ClaimResult {
        record.expiresAt = this.now + request.retainMs
        return super.answerHeld(record, request)
      }
    },
  },
  {
    fault: 'keeps a released record for its lease alone',
    seenBy: ['retention-released'],
    Store: class extends PlainStore {
      override async release(lease: Lease): Promise<boolean> {
        return this.change(lease, ['running', 'released'], (record) => {
          record.state = 'released'
          record.expiresAt = this.now + 30 * MINUTE
        })
      }
    },
  },
  {
    fault: 'never forgets what is unfinished',
    seenBy: ['retention-over-running'],
    Store: class extends EternalStore {
      override find(key: string): PlainRecord | undefined {
        const record = super.find(key)
        return record?.state === 'running' || (record?.expiresAt ?? 0) > this.now ? record : undefined
      }
    },
  },
  {
    fault: 'never forgets what is released',
    seenBy: ['retention-over-released'],
    Store: class extends EternalStore {
      override find(key: string): PlainRecord | undefined {
        const record = super.find(key)
        return record?.state === 'released' || (record?.expiresAt ?? 0) > this.now ? record : undefined
      }
    },
  },
  {
    fault: 'looks at the retention in claim alone',
    seenBy: ['retention-over-completed'],
    Store: class extends EternalStore {
      override async claim(request: ClaimRequest): Promise<ClaimResult> {
        const record = this.find(request.key)
        if (record !== undefined && record.expiresAt <= this.now) this.records.delete(request.key)
        return super.claim(request)
      }
    },
  },
  {
    fault: 'keeps milliseconds in 32 bits',
    seenBy: ['retention-long'],
    Store: class extends PlainStore {
      override complete(lease: Lease, retainMs: number): Promise<boolean> {
        return super.complete(lease, Math.min(retainMs, MAX_INT))
      }
    },
  },
  {
    fault: 'refuses fractions of a millisecond, as integer parameters do',
    seenBy: ['terms-fraction'],
    Store: class extends PlainStore {
      override async claim(request: ClaimRequest): Promise<ClaimResult> {
        if (!Number.isInteger(request.leaseMs)) throw new Error('value is not an integer or out of range')
        return super.claim(request)
      }
    },
  },
]
