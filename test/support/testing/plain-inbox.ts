import type { Inbox, OnceRequest, OnceResult } from 'tix-webhooks'
import type { InboxCut, InboxHarness } from 'tix-webhooks/testing'
import { isDiscard } from '../../../src/index.js'

/** A transaction of a connection. */
export interface PlainTx {
  written: string[]
  isOver: boolean
  /** A statement has failed: the transaction can only be rolled back. */
  hasFailed: boolean
  isCut: boolean
  cut(): void
}

/** A database in memory, which all inboxes share. */
class PlainDatabase {
  readonly effects: string[] = []
  readonly records = new Map<string, number>()
  readonly locks = new Map<unknown, Promise<void>>()
  readonly open = new Set<PlainTx>()
  nowMs = 0
  nextCommit: InboxCut | undefined
  readonly inboxes: PlainInbox[] = []
}

/** The fault of an inbox; each is one that somebody could write. */
export type InboxFault = (typeof FAULTY_INBOXES)[number]['fault']

/** The faults, and the cases that see each. */
export const FAULTY_INBOXES = [
  { fault: 'commits each write at once', seenBy: ['handled', 'failed'] },
  { fault: 'records nothing', seenBy: ['duplicate', 'handled-empty'] },
  { fault: 'records only what wrote something', seenBy: ['handled-empty'] },
  { fault: 'keeps the writes of work that rejects', seenBy: ['failed'] },
  { fault: 'keeps the record of work that rejects', seenBy: ['failed'] },
  { fault: 'wraps the error', seenBy: ['failed-error'] },
  { fault: 'keeps the writes of what is discarded', seenBy: ['discarded'] },
  { fault: 'does not record what is discarded', seenBy: ['discarded', 'discarded-failed'] },
  { fault: 'takes no key for a key', seenBy: ['null-key'] },
  { fault: 'takes a rolled back COMMIT for one', seenBy: ['swallowed'] },
  { fault: 'waits for the other delivery', seenBy: ['in-flight'] },
  { fault: 'locks in its own process', seenBy: ['in-flight-other', 'race'] },
  { fault: 'runs one delivery at a time', seenBy: ['pool-of-two'] },
  { fault: 'keeps the connection of work that rejects', seenBy: ['connection-back'] },
  { fault: 'lets a handler write when it is over', seenBy: ['late-handled', 'late-discarded', 'given-up'] },
  { fault: 'leaves a nested transaction open', seenBy: ['nested'] },
  { fault: 'keeps a broken connection', seenBy: ['lost-idle'] },
  { fault: 'commits on another connection', seenBy: ['lost-running'] },
  { fault: 'learns of a lost connection at the end', seenBy: ['lost-at-once'] },
  { fault: 'takes a lost COMMIT for one', seenBy: ['lost-commit', 'lost-reply'] },
  { fault: 'cuts a key to 254 characters', seenBy: ['key-long'] },
  { fault: 'ignores the case of a key', seenBy: ['key-case'] },
  { fault: 'ignores the spaces of a key', seenBy: ['key-spaces'] },
  { fault: 'takes an underscore for any character', seenBy: ['key-ascii'] },
  { fault: 'has 32 bits for the retention', seenBy: ['retained-long'] },
  { fault: 'keeps each record for a day', seenBy: ['retained'] },
  { fault: 'has a check that fails', seenBy: ['check'] },
  { fault: 'reports another pool', seenBy: ['connections'] },
] as const

const DAY_MS = 24 * 3_600_000

/** An inbox in memory that makes the decisions of every inbox rightly, but for one fault. */
class PlainInbox implements Inbox<PlainTx> {
  readonly connections: { readonly max: number }
  private readonly waiting: (() => void)[] = []
  private readonly ownLocks = new Map<unknown, Promise<void>>()
  private idle: number
  isBroken = false

  constructor(
    private readonly db: PlainDatabase,
    max: number,
    private readonly fault: InboxFault | undefined,
  ) {
    this.idle = fault === 'runs one delivery at a time' ? 1 : max
    this.connections = { max: fault === 'reports another pool' ? max + 1 : max }
  }

  async check(): Promise<void> {
    if (this.fault === 'has a check that fails') throw new Error('no table')
  }

  async once(request: OnceRequest, work: (tx: PlainTx) => Promise<void>): Promise<OnceResult> {
    if (this.idle === 0) await new Promise<void>((resolve) => this.waiting.push(resolve))
    else this.idle -= 1
    let isGivenBack = true
    try {
      return await this.transact(request, work)
    } catch (error) {
      isGivenBack = this.fault !== 'keeps the connection of work that rejects'
      throw this.fault === 'wraps the error' ? new Error('the work failed', { cause: error }) : error
    } finally {
      const next = this.waiting.shift()
      if (isGivenBack && next !== undefined) next()
      else if (isGivenBack) this.idle += 1
      else if (next !== undefined) this.waiting.unshift(next)
    }
  }

  private async transact(
    { key: given, retainMs }: OnceRequest,
    work: (tx: PlainTx) => Promise<void>,
  ): Promise<OnceResult> {
    const { db, fault } = this
    const key = this.keyOf(given)
    if (fault === 'has 32 bits for the retention' && retainMs > 2 ** 32) throw new RangeError('out of range')
    if (fault === 'keeps a broken connection' && this.isBroken) throw new Error('connection ended')
    await null
    const locks = fault === 'locks in its own process' ? this.ownLocks : db.locks
    while (key !== null && locks.has(key)) {
      if (fault !== 'waits for the other delivery') return { status: 'in_flight' }
      await locks.get(key)
    }
    const until = key === null ? undefined : db.records.get(key)
    if (until !== undefined && until > db.nowMs) return { status: 'duplicate' }

    let unlock = (): void => {}
    if (key !== null)
      locks.set(
        key,
        new Promise((resolve) => {
          unlock = resolve
        }),
      )
    let cut = (): void => {}
    const broken = new Promise<never>((_, reject) => {
      cut = () => reject(new Error('connection lost'))
    })
    broken.catch(() => {})
    const tx: PlainTx = {
      written: [],
      isOver: false,
      hasFailed: false,
      isCut: false,
      cut: () => {
        tx.isCut = true
        if (fault !== 'learns of a lost connection at the end') cut()
      },
    }
    db.open.add(tx)
    const record = (): void => {
      const isEmpty = fault === 'records only what wrote something' && tx.written.length === 0
      if (key !== null && !isEmpty && fault !== 'records nothing')
        db.records.set(key, db.nowMs + (fault === 'keeps each record for a day' ? DAY_MS : retainMs))
    }
    try {
      if (fault === 'keeps the record of work that rejects') record()
      await Promise.race([work(tx), broken])
      if (tx.hasFailed && fault !== 'takes a rolled back COMMIT for one') throw new Error('rolled back')
      this.commit(
        tx,
        tx.hasFailed
          ? () => {}
          : () => {
              db.effects.push(...tx.written)
              record()
            },
      )
      return { status: 'handled' }
    } catch (error) {
      if (fault === 'commits on another connection' && tx.isCut) db.effects.push(...tx.written)
      if (fault === 'keeps the writes of work that rejects') db.effects.push(...tx.written)
      if (!isDiscard(error)) throw error
      if (fault === 'keeps the writes of what is discarded') db.effects.push(...tx.written)
      if (fault !== 'does not record what is discarded') record()
      return { status: 'discarded' }
    } finally {
      tx.isOver = true
      db.open.delete(tx)
      locks.delete(key)
      unlock()
    }
  }

  private commit(tx: PlainTx, make: () => void): void {
    const { db, fault } = this
    const lost = db.nextCommit
    db.nextCommit = undefined
    if (tx.isCut) throw new Error('connection lost')
    if (lost !== 'before commit') make()
    if (lost !== undefined && fault !== 'takes a lost COMMIT for one') throw new Error('connection lost')
  }

  private keyOf(key: string | null): string | null {
    if (key === null) return this.fault === 'takes no key for a key' ? 'null' : null
    if (this.fault === 'cuts a key to 254 characters') return key.slice(0, 254)
    if (this.fault === 'ignores the case of a key') return key.toLowerCase()
    if (this.fault === 'ignores the spaces of a key') return key.trim()
    return this.fault === 'takes an underscore for any character' ? key.replaceAll(/[^\w/-]/g, '_') : key
  }
}

/** A harness of an inbox in memory, with a fault or without. */
export function plainInboxHarness(fault?: InboxFault): InboxHarness<PlainTx> {
  const db = new PlainDatabase()
  return {
    async create({ connections }) {
      const inbox = new PlainInbox(db, connections, fault)
      db.inboxes.push(inbox)
      return inbox
    },
    async write(tx, id) {
      if (tx.isCut) throw new Error('connection lost')
      if (tx.isOver && fault !== 'lets a handler write when it is over')
        throw new Error('the transaction is over')
      if (tx.hasFailed) throw new Error('the transaction is aborted')
      if (tx.isOver || fault === 'commits each write at once') db.effects.push(id)
      else tx.written.push(id)
    },
    read: async () => [...db.effects],
    async fail(tx) {
      tx.hasFailed = true
      throw new Error('syntax error')
    },
    async nest(tx, work) {
      const before = tx.written.length
      try {
        await work(tx)
      } catch (error) {
        // ROLLBACK TO SAVEPOINT: sent too late, it is of the next delivery.
        if (!tx.isOver) tx.written.length = before
        else if (fault === 'leaves a nested transaction open')
          for (const one of db.open) one.written.length = 0
        throw error
      }
    },
    async cut(when) {
      if (when !== 'now') {
        db.nextCommit = when
        return
      }
      for (const tx of db.open) tx.cut()
      for (const inbox of db.inboxes) inbox.isBroken = true
    },
    async advance(ms) {
      db.nowMs += ms
    },
    timeoutMs: 100,
  }
}
