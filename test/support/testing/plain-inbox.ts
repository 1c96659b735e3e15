import {
  type FailedDelivery,
  type InboxConnections,
  isDiscard,
  type KeepResult,
  type LedgerInbox,
  type OnceRequest,
  type OnceResult,
  type OnceRun,
} from 'tix-webhooks'
import type { InboxCut } from 'tix-webhooks/testing'
import { memoryLedger } from '../../../src/ledger/memory/memory-ledger.js'
import { type EventRow, keep, open, transition } from '../../../src/ledger/transition.js'
import { deferred, never } from '../promises.js'
import { at } from './model-store.js'

interface Transaction {
  readonly effects: string[]
  readonly rows: Map<string, EventRow>
  readonly savepoints: number[]
  hasFailed: boolean
}

/** A database in memory, whose connections behave as those of a server. */
export class PlainDatabase {
  now = 0
  readonly effects: string[] = []
  readonly rows = new Map<string, EventRow>()
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
    this.transaction ??= { effects: [], rows: new Map(), savepoints: [], hasFailed: false }
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

  async record(key: string, row: EventRow): Promise<void> {
    await this.executed()
    const { rows } = this.transaction ?? this.database
    rows.set(key, row)
  }

  async find(key: string): Promise<EventRow | undefined> {
    await this.executed()
    return this.database.rows.get(key)
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
    const { effects = [], rows = [], hasFailed = true } = this.transaction ?? {}
    if (!hasFailed) {
      this.database.effects.push(...effects)
      for (const [key, row] of rows) this.database.rows.set(key, row)
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

type Work = (tx: PlainTransaction, run?: OnceRun) => Promise<void>

/** The transaction of a handler, which refuses every use once that has ended. */
export class PlainTransaction {
  isOver = false

  constructor(
    readonly connection: PlainConnection,
    /** Whether it refuses its use when it is over. */
    private readonly isGuarded = true,
  ) {}

  write(effect: string): Promise<void> {
    return this.use(() => this.connection.write(effect))
  }

  fail(): Promise<void> {
    return this.use(() => this.connection.fail())
  }

  nest(work: (inner: PlainTransaction) => Promise<void>): Promise<void> {
    return this.use(async () => {
      await this.connection.savepoint()
      await work(this).catch(() => {})
      await this.release()
    })
  }

  async release(): Promise<void> {
    if (this.isOver && this.isGuarded) await never()
    await this.connection.release()
  }

  private async use(call: () => Promise<void>): Promise<void> {
    if (this.isOver && this.isGuarded) throw new Error('the transaction is over')
    await call()
  }
}

let runs = 0

/** An inbox that is right, cut into the decisions that it makes, so that a test can get each of them wrong. */
export class PlainInbox implements LedgerInbox<PlainTransaction> {
  readonly connections: InboxConnections
  private readonly idle: PlainConnection[] = []
  private readonly waiting: ((connection: PlainConnection) => void)[] = []
  private opened = 0

  constructor(
    readonly database: PlainDatabase,
    max: number,
  ) {
    this.connections = { max }
  }

  async once(request: OnceRequest, work: Work): Promise<OnceResult> {
    const connection = await this.connect()
    try {
      return await this.runOn(connection, request, work)
    } finally {
      this.giveBack(connection)
    }
  }

  async check(): Promise<void> {}

  async runOn(connection: PlainConnection, request: OnceRequest, work: Work): Promise<OnceResult> {
    try {
      return await this.transact(connection, request, work)
    } catch (error) {
      if (!isDiscard(error)) throw error
      return this.discard(connection, request, error.message)
    }
  }

  /** Runs the work between BEGIN and COMMIT. */
  async transact(
    connection: PlainConnection,
    request: OnceRequest,
    work: Work,
    discarded?: { readonly reason: string },
  ): Promise<OnceResult> {
    const { key } = request
    const tx = this.handed(connection)
    try {
      await connection.begin()
      const opened = key === null ? undefined : await this.open(connection, { ...request, key }, discarded)
      if (typeof opened === 'string') {
        await connection.rollback()
        return { status: opened }
      }
      if (key !== null && opened !== undefined) await this.record(connection, key, opened)
      await this.attempt((given) => work(given, opened && { attempt: opened.attempt }), tx)
      tx.isOver = true
      await this.commit(connection)
      return { status: 'handled' }
    } catch (error) {
      tx.isOver = true
      await this.rollBack(connection)
      throw error
    }
  }

  /** Calls the work, and waits for it unless the connection is lost. */
  attempt(work: Work, tx: PlainTransaction): Promise<void> {
    return Promise.race([work(tx), tx.connection.lost])
  }

  /** The row of the event if this transaction is committed; or why its work is not called. */
  async open(
    connection: PlainConnection,
    request: OnceRequest & { readonly key: string },
    discarded?: { readonly reason: string },
  ): Promise<EventRow | 'duplicate' | 'in_flight' | 'parked' | undefined> {
    if (!(await this.lock(connection, request.key))) return 'in_flight'
    const { row, answer } = this.decide(await connection.find(request.key), request)
    if (answer.status !== 'opened') return answer.status
    return row && { ...row, ...(discarded && { state: 'discarded', reason: discarded.reason }) }
  }

  /** What opening the transaction makes of the row. */
  decide(row: EventRow | undefined, request: OnceRequest): ReturnType<typeof open> {
    return open(row, { ...request, token: `run ${runs++}` }, at(this.database.now))
  }

  lock(connection: PlainConnection, key: string): Promise<boolean> {
    return connection.lock(key)
  }

  async record(connection: PlainConnection, key: string, row: EventRow): Promise<void> {
    await connection.record(key, row)
  }

  async discard(connection: PlainConnection, request: OnceRequest, reason: string): Promise<OnceResult> {
    const { status } = await this.transact(connection, request, async () => {}, { reason })
    return { status: status === 'handled' ? 'discarded' : status }
  }

  async keep(failed: FailedDelivery): Promise<KeepResult> {
    if (this.isLocked(failed.key)) return 'in_flight'
    return this.change(failed.key, (row) => keep(row, { failed }, at(this.database.now)))
  }

  async forget(key: string): Promise<boolean> {
    return this.database.rows.delete(key)
  }

  readonly ledger = memoryLedger({
    rows: () => [...this.database.rows].map(([key, row]) => ({ key, row })),
    rowOf: (key) => this.database.rows.get(key),
    timeNow: () => at(this.database.now),
    discard: (key, reason) =>
      this.isLocked(key)
        ? 'in_flight'
        : (this.change(key, (row) =>
            transition(row, { do: 'discard', reason }, at(this.database.now)),
          ) as 'discarded'),
  })

  isLocked(key: string): boolean {
    return this.database.locks.has(key)
  }

  private change<Answer>(
    key: string,
    make: (row: EventRow | undefined) => { readonly row: EventRow | undefined; readonly answer: Answer },
  ): Answer {
    const { row, answer } = make(this.database.rows.get(key))
    if (row !== undefined) this.database.rows.set(key, row)
    return answer
  }

  async commit(connection: PlainConnection): Promise<void> {
    if ((await connection.commit()) !== 'COMMIT') throw new Error('rolled back')
  }

  async rollBack(connection: PlainConnection): Promise<void> {
    await connection.rollback().catch(() => {})
  }

  handed(connection: PlainConnection): PlainTransaction {
    return new PlainTransaction(connection)
  }

  async connect(): Promise<PlainConnection> {
    let found = this.idle.pop()
    while (found !== undefined && !this.isUsable(found)) {
      this.opened--
      found = this.idle.pop()
    }
    if (found !== undefined) return found
    if (this.opened >= this.connections.max) return new Promise((resolve) => this.waiting.push(resolve))
    this.opened++
    return this.database.connect()
  }

  giveBack(connection: PlainConnection): void {
    const next = this.waiting.shift()
    if (next === undefined) this.idle.push(connection)
    else next(this.isUsable(connection) ? connection : this.database.connect())
  }

  isUsable(connection: PlainConnection): boolean {
    return !connection.isLost
  }
}
