import type { InboxCut } from 'tix-webhooks/testing'
import { deferred } from '../promises.js'

interface Transaction {
  readonly effects: string[]
  readonly records: Map<string, number>
  readonly savepoints: number[]
  hasFailed: boolean
}

/** A database in memory, whose connections behave as those of a server. */
export class PlainDatabase {
  now = 0
  readonly effects: string[] = []
  /** When the record of each key expires. */
  readonly records = new Map<string, number>()
  readonly locks = new Map<string, PlainConnection>()
  readonly connections = new Set<PlainConnection>()
  lostCommit: InboxCut | undefined

  connect(): PlainConnection {
    const connection = new PlainConnection(this)
    this.connections.add(connection)
    return connection
  }

  cut(when: InboxCut): void {
    if (when !== 'now') this.lostCommit = when
    else for (const connection of this.connections) connection.lose()
  }
}

/** Statements are executed in the order in which they are sent; outside of a transaction each is committed by itself. */
export class PlainConnection {
  isLost = false
  private transaction: Transaction | undefined
  private readonly loss = deferred<never>()
  /** Rejects when the connection is lost. */
  readonly lost = this.loss.promise

  constructor(readonly database: PlainDatabase) {
    this.lost.catch(() => {})
  }

  lose(): void {
    this.end()
    this.isLost = true
    this.database.connections.delete(this)
    this.loss.reject(new Error('connection reset'))
  }

  async begin(): Promise<void> {
    await this.sent()
    // A second BEGIN is a warning.
    this.transaction ??= { effects: [], records: new Map(), savepoints: [], hasFailed: false }
  }

  async write(effect: string): Promise<void> {
    await this.executed()
    const { effects } = this.transaction ?? this.database
    effects.push(effect)
  }

  async fail(): Promise<void> {
    await this.sent()
    if (this.transaction !== undefined) this.transaction.hasFailed = true
    throw new Error('division by zero')
  }

  async savepoint(): Promise<void> {
    await this.executed()
    this.transaction?.savepoints.push(this.transaction.effects.length)
  }

  async release(): Promise<void> {
    await this.executed()
    if (this.transaction?.savepoints.pop() === undefined) await this.fail()
  }

  async record(key: string, expiresAt: number): Promise<void> {
    await this.executed()
    const { records } = this.transaction ?? this.database
    records.set(key, expiresAt)
  }

  async isRecorded(key: string): Promise<boolean> {
    await this.executed()
    return (this.database.records.get(key) ?? 0) > this.database.now
  }

  /** Takes a lock that ends with the transaction; false if another connection has it. */
  async lock(key: string): Promise<boolean> {
    await this.executed()
    const { locks } = this.database
    if (!locks.has(key)) locks.set(key, this)
    return locks.get(key) === this
  }

  /** Returns what has happened: in a transaction in which a statement has failed, a rollback. */
  async commit(): Promise<'COMMIT' | 'ROLLBACK'> {
    const { lostCommit } = this.database
    this.database.lostCommit = undefined
    if (lostCommit === 'before commit') this.lose()
    await this.sent()
    const { effects = [], records = [], hasFailed = true } = this.transaction ?? {}
    if (!hasFailed) {
      this.database.effects.push(...effects)
      for (const [key, expiresAt] of records) this.database.records.set(key, expiresAt)
    }
    this.end()
    if (lostCommit === 'after commit') this.lose()
    await this.sent()
    return hasFailed ? 'ROLLBACK' : 'COMMIT'
  }

  async rollback(): Promise<void> {
    await this.sent()
    this.end()
  }

  private end(): void {
    this.transaction = undefined
    for (const [key, holder] of this.database.locks) if (holder === this) this.database.locks.delete(key)
  }

  private async sent(): Promise<void> {
    await Promise.resolve()
    if (this.isLost) throw new Error('connection reset')
  }

  private async executed(): Promise<void> {
    await this.sent()
    if (this.transaction?.hasFailed) throw new Error('current transaction is aborted')
  }
}
