import type { ClaimRequest, ClaimResult, IdempotencyStore, Lease, Purgeable } from 'tix-webhooks'

export interface PlainRecord {
  state: 'running' | 'completed' | 'released'
  token: string
  attempt: number
  leaseUntil: number
  expiresAt: number
}

/** A store that is right, cut into the decisions that it makes, so that a test can get each of them wrong. */
export class PlainStore implements IdempotencyStore, Purgeable {
  now = 0
  readonly records = new Map<string, PlainRecord>()

  async claim(request: ClaimRequest): Promise<ClaimResult> {
    const record = this.find(request.key)
    if (record === undefined) return this.grant(request, 1)
    if (record.state === 'completed') return this.answerCompleted(record, request)
    const isOwn = this.isSame(record.token, request.token)
    if (record.state === 'released') {
      return isOwn ? this.answerReleased(request, record) : this.grant(request, this.nextAttempt(record))
    }
    if (isOwn) return this.repeat(request, record)
    if (this.isLive(record)) return this.answerHeld(record, request)
    return this.grant(request, this.nextAttempt(record))
  }

  async renew(lease: Lease, leaseMs: number): Promise<boolean> {
    return this.change(lease, ['running'], (record) => {
      record.leaseUntil = this.now + leaseMs
    })
  }

  async complete(lease: Lease, retainMs: number): Promise<boolean> {
    if (this.find(lease.key) === undefined) this.writeCompletion(lease, retainMs)
    return this.change(lease, ['running', 'completed'], (record) => {
      record.state = 'completed'
      record.expiresAt = this.now + retainMs
    })
  }

  async release(lease: Lease): Promise<boolean> {
    return this.change(lease, ['running', 'released'], (record) => {
      record.state = 'released'
    })
  }

  async purge(): Promise<number> {
    const keys = [...this.records].filter(([, record]) => this.mayPurge(record)).map(([key]) => key)
    for (const key of keys) this.records.delete(key)
    return keys.length
  }

  mayPurge(record: PlainRecord): boolean {
    return record.expiresAt <= this.now
  }

  find(key: string): PlainRecord | undefined {
    const record = this.records.get(this.keyOf(key))
    return record !== undefined && record.expiresAt > this.now ? record : undefined
  }

  keyOf(key: string): string {
    return key
  }

  isSame(token: string, other: string): boolean {
    return token === other
  }

  isLive(record: PlainRecord): boolean {
    return record.leaseUntil > this.now
  }

  nextAttempt(record: PlainRecord): number {
    return record.attempt + 1
  }

  grant({ key, token, leaseMs, retainMs }: ClaimRequest, attempt: number): ClaimResult {
    const record = { token, attempt, leaseUntil: this.now + leaseMs, expiresAt: this.now + retainMs }
    this.records.set(this.keyOf(key), { state: 'running', ...record })
    return { status: 'claimed', attempt }
  }

  /** The store lost the record while its handler ran. */
  writeCompletion({ key, token }: Lease, retainMs: number): void {
    const expiresAt = this.now + retainMs
    this.records.set(this.keyOf(key), {
      state: 'completed',
      token,
      attempt: 1,
      leaseUntil: this.now,
      expiresAt,
    })
  }

  repeat(request: ClaimRequest, record: PlainRecord): ClaimResult {
    return this.grant(request, record.attempt)
  }

  answerHeld(record: PlainRecord, _request: ClaimRequest): ClaimResult {
    return { status: 'in_flight', retryAfterMs: record.leaseUntil - this.now }
  }

  answerReleased(_request: ClaimRequest, _record: PlainRecord): ClaimResult {
    return { status: 'in_flight', retryAfterMs: 1 }
  }

  answerCompleted(_record: PlainRecord, _request: ClaimRequest): ClaimResult {
    return { status: 'completed' }
  }

  /** Compares the token, and not the clock. */
  change(
    { key, token }: Lease,
    states: readonly PlainRecord['state'][],
    how: (record: PlainRecord) => void,
  ): boolean {
    const record = this.find(key)
    if (record === undefined || !this.isSame(record.token, token) || !states.includes(record.state))
      return false
    how(record)
    return true
  }
}
