import type { ClaimRequest, ClaimResult } from 'tix-webhooks'
import type { Fault } from './faulty-stores.js'
import { type PlainRecord, PlainStore } from './plain-store.js'

const MINUTE = 60_000

/** Faults of `claim`. */
export const FAULTY_CLAIMS: readonly Fault[] = [
  {
    fault: 'counts attempts from 0',
    seenBy: ['claim-fresh'],
    Store: class extends PlainStore {
      override grant(request: ClaimRequest, attempt: number): ClaimResult {
        super.grant(request, attempt)
        return { status: 'claimed', attempt: attempt - 1 }
      }
    },
  },
  {
    fault: 'gives the attempt as text, as drivers give a bigint',
    seenBy: ['claim-fresh'],
    Store: class extends PlainStore {
      override grant(request: ClaimRequest, attempt: number): ClaimResult {
        return { ...super.grant(request, attempt), attempt: String(attempt) } as unknown as ClaimResult
      }
    },
  },
  {
    fault: 'grants everything',
    seenBy: ['claim-held'],
    Store: class extends PlainStore {
      override isLive(): boolean {
        return false
      }
    },
  },
  {
    fault: 'says the whole lease instead of what is left of it',
    seenBy: ['claim-held'],
    Store: class extends PlainStore {
      override answerHeld(_: PlainRecord, { leaseMs }: ClaimRequest): ClaimResult {
        return { status: 'in_flight', retryAfterMs: leaseMs }
      }
    },
  },
  {
    fault: 'says seconds instead of milliseconds',
    seenBy: ['claim-held'],
    Store: class extends PlainStore {
      override answerHeld(record: PlainRecord): ClaimResult {
        return { status: 'in_flight', retryAfterMs: (record.leaseUntil - this.now) / 1000 }
      }
    },
  },
  {
    fault: 'renews the lease for a claim that finds it held',
    seenBy: ['claim-held-kept'],
    Store: class extends PlainStore {
      override answerHeld(record: PlainRecord, request: ClaimRequest): ClaimResult {
        const answer = super.answerHeld(record, request)
        record.leaseUntil = this.now + request.leaseMs
        return answer
      }
    },
  },
  {
    fault: 'gives the token of a claim that finds it held the record',
    seenBy: ['claim-held-kept'],
    Store: class extends PlainStore {
      override answerHeld(record: PlainRecord, request: ClaimRequest): ClaimResult {
        record.token = request.token
        return super.answerHeld(record, request)
      }
    },
  },
  {
    fault: 'grants what is completed when its lease is over',
    seenBy: ['claim-completed'],
    Store: class extends PlainStore {
      override answerCompleted(record: PlainRecord, request: ClaimRequest): ClaimResult {
        return this.isLive(record) ? { status: 'completed' } : this.grant(request, record.attempt + 1)
      }
    },
  },
  {
    fault: 'keeps what was released until its lease runs out',
    seenBy: ['claim-released'],
    Store: class extends PlainStore {
      override async claim(request: ClaimRequest): Promise<ClaimResult> {
        const record = this.find(request.key)
        const isHeld = record?.state === 'released' && this.isLive(record)
        return isHeld ? this.answerHeld(record, request) : super.claim(request)
      }
    },
  },
  {
    fault: 'never takes over',
    seenBy: ['claim-takeover'],
    Store: class extends PlainStore {
      override isLive(): boolean {
        return true
      }
    },
  },
  {
    fault: 'takes over minutes too soon',
    seenBy: ['claim-takeover'],
    Store: class extends PlainStore {
      override isLive(record: PlainRecord): boolean {
        return record.leaseUntil - 10 * MINUTE > this.now
      }
    },
  },
  {
    fault: 'takes over minutes too late',
    seenBy: ['claim-takeover'],
    Store: class extends PlainStore {
      override isLive(record: PlainRecord): boolean {
        return record.leaseUntil + 6 * MINUTE > this.now
      }
    },
  },
  {
    fault: 'does not count attempts',
    seenBy: ['claim-attempts'],
    Store: class extends PlainStore {
      override nextAttempt(): number {
        return 1
      }
    },
  },
  {
    fault: 'counts to two',
    seenBy: ['claim-attempts'],
    Store: class extends PlainStore {
      override nextAttempt(): number {
        return 2
      }
    },
  },
  {
    fault: 'gives every claim the lease of the first',
    seenBy: ['claim-terms'],
    Store: class extends PlainStore {
      #leaseMs: number | undefined

      override grant(request: ClaimRequest, attempt: number): ClaimResult {
        this.#leaseMs ??= request.leaseMs
        return super.grant({ ...request, leaseMs: this.#leaseMs }, attempt)
      }
    },
  },
  {
    fault: 'counts a claim that is sent again as another attempt',
    seenBy: ['claim-resent'],
    Store: class extends PlainStore {
      override repeat(request: ClaimRequest, record: PlainRecord): ClaimResult {
        return this.grant(request, record.attempt + 1)
      }
    },
  },
  {
    fault: 'says in_flight to the holder that sends its claim again',
    seenBy: ['claim-resent'],
    Store: class extends PlainStore {
      override repeat(request: ClaimRequest, record: PlainRecord): ClaimResult {
        return this.isLive(record)
          ? this.answerHeld(record, request)
          : this.grant(request, record.attempt + 1)
      }
    },
  },
  {
    fault: 'keeps the lease when the claim is sent again',
    seenBy: ['claim-resent-lease'],
    Store: class extends PlainStore {
      override repeat(_: ClaimRequest, { attempt }: PlainRecord): ClaimResult {
        return { status: 'claimed', attempt }
      }
    },
  },
  {
    fault: 'counts another attempt when its own lease ran out',
    seenBy: ['claim-resent-late'],
    Store: class extends PlainStore {
      override repeat(request: ClaimRequest, record: PlainRecord): ClaimResult {
        return this.grant(request, this.isLive(record) ? record.attempt : record.attempt + 1)
      }
    },
  },
  {
    fault: 'lets the own token take back what it released',
    seenBy: ['claim-resent-released'],
    Store: class extends PlainStore {
      override answerReleased(request: ClaimRequest, record: PlainRecord): ClaimResult {
        return this.grant(request, record.attempt)
      }
    },
  },
  {
    fault: 'says the lease to a claim that comes after its own release',
    seenBy: ['claim-resent-released'],
    Store: class extends PlainStore {
      override answerReleased(request: ClaimRequest, record: PlainRecord): ClaimResult {
        return this.answerHeld(record, request)
      }
    },
  },
  {
    fault: 'grants every claim whose token it has seen',
    seenBy: ['claim-resent-taken-over'],
    Store: class extends PlainStore {
      readonly #seen = new Set<string>()

      override answerHeld(record: PlainRecord, request: ClaimRequest): ClaimResult {
        return this.#seen.has(request.token)
          ? this.grant(request, record.attempt)
          : super.answerHeld(record, request)
      }

      override grant(request: ClaimRequest, attempt: number): ClaimResult {
        this.#seen.add(request.token)
        return super.grant(request, attempt)
      }
    },
  },
  {
    fault: 'repeats the grant to the token that completed',
    seenBy: ['claim-resent-completed'],
    Store: class extends PlainStore {
      override answerCompleted(record: PlainRecord, { token }: ClaimRequest): ClaimResult {
        const { attempt } = record
        return record.token === token ? { status: 'claimed', attempt } : { status: 'completed' }
      }
    },
  },
]
