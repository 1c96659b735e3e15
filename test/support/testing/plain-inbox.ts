import { type Inbox, type InboxConnections, isDiscard, type OnceRequest, type OnceResult } from 'tix-webhooks'
import { never } from '../promises.js'
import type { PlainConnection, PlainDatabase } from './plain-database.js'

type Work = (tx: PlainTransaction) => Promise<void>

/** The transaction of a handler, which refuses every use once that has ended. */
export class PlainTransaction {
  isOver = false

  constructor(
    readonly connection: PlainConnection,
    /** Whether it refuses its use when it is over. */
    private readonly isGuarded = true,
  ) {}

  async write(effect: string): Promise<void> {
    this.refuseIfOver()
    await this.connection.write(effect)
  }

  async fail(): Promise<void> {
    this.refuseIfOver()
    await this.connection.fail()
  }

  async nest(work: (inner: PlainTransaction) => Promise<void>): Promise<void> {
    this.refuseIfOver()
    await this.connection.savepoint()
    await work(this).catch(() => {})
    await this.release()
  }

  async release(): Promise<void> {
    if (this.isOver && this.isGuarded) await never()
    await this.connection.release()
  }

  private refuseIfOver(): void {
    if (this.isOver && this.isGuarded) throw new Error('the transaction is over')
  }
}

/** An inbox that is right, cut into the decisions that it makes, so that a test can get each of them wrong. */
export class PlainInbox implements Inbox<PlainTransaction> {
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
      return await this.transact(connection, request, (tx) => this.callUnlessLost(connection, work, tx))
    } catch (error) {
      if (!isDiscard(error)) throw this.thrown(error)
      return this.discard(connection, request)
    }
  }

  /** Runs the work between BEGIN and COMMIT. */
  async transact(connection: PlainConnection, request: OnceRequest, work: Work): Promise<OnceResult> {
    const key = this.keyOf(request.key)
    const tx = this.handed(connection)
    try {
      await connection.begin()
      const denied = key === null ? undefined : await this.deny(connection, key)
      if (denied !== undefined) {
        await connection.rollback()
        return { status: denied }
      }
      if (key !== null) await this.record(connection, key, request.retainMs)
      await this.attempt(work, tx)
      tx.isOver = true
      await this.commit(connection)
      return { status: 'handled' }
    } catch (error) {
      tx.isOver = true
      await this.rollBack(connection)
      throw error
    }
  }

  async attempt(work: Work, tx: PlainTransaction): Promise<void> {
    await work(tx)
  }

  callUnlessLost(connection: PlainConnection, work: Work, tx: PlainTransaction): Promise<void> {
    return Promise.race([work(tx), connection.lost])
  }

  /** Why the work of the event is not called. */
  async deny(connection: PlainConnection, key: string): Promise<'in_flight' | 'duplicate' | undefined> {
    if (!(await this.lock(connection, key))) return 'in_flight'
    return (await connection.isRecorded(key)) ? 'duplicate' : undefined
  }

  lock(connection: PlainConnection, key: string): Promise<boolean> {
    return connection.lock(key)
  }

  async record(connection: PlainConnection, key: string, retainMs: number): Promise<void> {
    await connection.record(key, this.database.now + retainMs)
  }

  async discard(connection: PlainConnection, request: OnceRequest): Promise<OnceResult> {
    const { status } = await this.transact(connection, request, async () => {})
    return { status: status === 'handled' ? 'discarded' : status }
  }

  async commit(connection: PlainConnection): Promise<void> {
    if ((await connection.commit()) !== 'COMMIT') throw new Error('rolled back')
  }

  async rollBack(connection: PlainConnection): Promise<void> {
    await connection.rollback().catch(() => {})
  }

  keyOf(key: string | null): string | null {
    return key
  }

  handed(connection: PlainConnection): PlainTransaction {
    return new PlainTransaction(connection)
  }

  thrown(error: unknown): unknown {
    return error
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
