import { isDiscard, type OnceRequest, type OnceResult } from 'tix-webhooks'
import type { InboxHarness } from 'tix-webhooks/testing'
import { type PlainConnection, PlainDatabase } from './plain-database.js'
import { PlainInbox, PlainTransaction } from './plain-inbox.js'

type InboxClass = new (database: PlainDatabase, max: number) => PlainInbox
type Work = (tx: PlainTransaction) => Promise<void>

/** An inbox with one fault, and the cases that must see it. */
interface InboxFault {
  readonly fault: string
  readonly seenBy: readonly string[]
  readonly Inbox: InboxClass
}

export function harnessOf(Inbox: InboxClass): InboxHarness<PlainTransaction> {
  const database = new PlainDatabase()
  return {
    create: async ({ connections }) => new Inbox(database, connections),
    write: (tx, id) => tx.write(id),
    read: async () => [...database.effects],
    fail: (tx) => tx.fail(),
    nest: (tx, work) => tx.nest(work),
    cut: async (when) => database.cut(when),
    async advance(ms) {
      database.now += ms
    },
  }
}

function fault(what: string, seenBy: string | readonly string[], Inbox: InboxClass): InboxFault {
  return { fault: what, seenBy: [seenBy].flat(), Inbox }
}

/** An inbox that stores other keys. */
function storing(what: string, seenBy: string, stored: (key: string) => string | null): InboxFault {
  class Storing extends PlainInbox {
    override keyOf(key: string | null): string | null {
      return key === null ? null : stored(key)
    }
  }
  return fault(what, seenBy, Storing)
}

/** A transaction whose writes are committed one by one. */
class WithoutTransaction extends PlainTransaction {
  override async write(effect: string): Promise<void> {
    this.connection.database.effects.push(effect)
  }
}

export const FAULTY_INBOXES: readonly InboxFault[] = [
  fault(
    'commits each write by itself',
    ['handled', 'failed', 'discarded', 'given-up'],
    class extends PlainInbox {
      override handed(connection: PlainConnection) {
        return new WithoutTransaction(connection)
      }
    },
  ),
  fault(
    'does not wait for its work',
    'handled',
    class extends PlainInbox {
      override async attempt(work: Work, tx: PlainTransaction) {
        void work(tx).catch(() => {})
      }
    },
  ),
  fault(
    'keeps its records in the process',
    'duplicate',
    class extends PlainInbox {
      private readonly known = new Map<string, number>()
      override async deny(_: PlainConnection, key: string) {
        return this.known.has(key) ? ('duplicate' as const) : undefined
      }
      override async record(_: PlainConnection, key: string) {
        this.known.set(key, 0)
      }
    },
  ),
  fault(
    'commits only what has written something',
    'handled-empty',
    class extends PlainInbox {
      override async attempt(work: Work, tx: PlainTransaction) {
        let isEmpty = true
        const { write } = tx
        tx.write = (effect) => {
          isEmpty = false
          return write.call(tx, effect)
        }
        await work(tx)
        if (!isEmpty) return
        await tx.connection.rollback()
        await tx.connection.begin()
      }
    },
  ),
  fault(
    'records an event before it calls the work',
    'failed',
    class extends PlainInbox {
      override async record(connection: PlainConnection, key: string, retainMs: number) {
        connection.database.records.set(key, connection.database.now + retainMs)
      }
    },
  ),
  fault(
    'records an event when it has committed the writes',
    'lost-reply',
    class extends PlainInbox {
      override async record() {}
      override async runOn(connection: PlainConnection, request: OnceRequest, work: Work) {
        const result = await super.runOn(connection, request, work)
        if (request.key !== null) await super.record(connection, request.key, request.retainMs)
        return result
      }
    },
  ),
  fault(
    'takes an error that is falsy for none',
    'failed',
    class extends PlainInbox {
      override async attempt(work: Work, tx: PlainTransaction) {
        await work(tx).catch((error) => {
          if (error) throw error
        })
      }
    },
  ),
  fault(
    'calls its work again if that has failed',
    'failed',
    class extends PlainInbox {
      override attempt(work: Work, tx: PlainTransaction) {
        return super.attempt(work, tx).catch(() => super.attempt(work, tx))
      }
    },
  ),
  fault(
    'wraps the error of its work',
    'failed-error',
    class extends PlainInbox {
      override thrown(cause: unknown) {
        return new Error('the work failed', { cause })
      }
    },
  ),
  fault(
    'keeps the writes of what is discarded',
    'discarded',
    class extends PlainInbox {
      override async attempt(work: Work, tx: PlainTransaction) {
        await work(tx).catch((error) => {
          if (!isDiscard(error)) throw error
        })
      }
      override async runOn(connection: PlainConnection, request: OnceRequest, work: Work) {
        let isDiscarded = false
        const { status } = await super.runOn(connection, request, async (tx) => {
          await work(tx).catch((error) => {
            isDiscarded = isDiscard(error)
            throw error
          })
        })
        return { status: isDiscarded ? ('discarded' as const) : status }
      }
    },
  ),
  fault(
    'does not record what is discarded',
    'discarded',
    class extends PlainInbox {
      override async discard() {
        return { status: 'discarded' } as const
      }
    },
  ),
  fault(
    'records what is discarded in the transaction of the work',
    'discarded-failed',
    class extends PlainInbox {
      override async rollBack(connection: PlainConnection) {
        const tx = connection as unknown as { transaction?: { hasFailed: boolean } }
        if (!tx.transaction?.hasFailed) await super.rollBack(connection)
      }
    },
  ),
  fault(
    'records what has no key',
    'null-key',
    class extends PlainInbox {
      override keyOf(key: string | null) {
        return String(key)
      }
    },
  ),
  fault(
    'has no transaction without a key',
    'null-key',
    class extends PlainInbox {
      override async runOn(
        connection: PlainConnection,
        request: OnceRequest,
        work: Work,
      ): Promise<OnceResult> {
        if (request.key !== null) return super.runOn(connection, request, work)
        try {
          await work(new PlainTransaction(connection))
          return { status: 'handled' }
        } catch (error) {
          if (!isDiscard(error)) throw error
          return { status: 'discarded' }
        }
      }
    },
  ),
  fault(
    'does not look at the answer to COMMIT',
    'swallowed',
    class extends PlainInbox {
      override async commit(connection: PlainConnection) {
        await connection.commit()
      }
    },
  ),
  fault(
    'waits for the delivery that is in flight',
    ['in-flight', 'in-flight-other'],
    class extends PlainInbox {
      override async lock(connection: PlainConnection, key: string) {
        while (!(await connection.lock(key))) await new Promise((resolve) => setTimeout(resolve))
        return true
      }
    },
  ),
  fault(
    'locks in its process alone',
    ['in-flight-other', 'race'],
    class extends PlainInbox {
      private readonly locked = new Set<string>()
      override async lock(_: PlainConnection, key: string) {
        return !this.locked.has(key) && this.locked.add(key) !== undefined
      }
      override async runOn(connection: PlainConnection, request: OnceRequest, work: Work) {
        const result = await super.runOn(connection, request, work)
        if (result.status !== 'in_flight') this.locked.delete(String(request.key))
        return result
      }
    },
  ),
  fault(
    'looks for a lock before it takes it',
    'race',
    class extends PlainInbox {
      override async lock(connection: PlainConnection, key: string) {
        const { locks } = connection.database
        if (locks.has(key)) return false
        await Promise.resolve()
        locks.set(key, connection)
        return true
      }
    },
  ),
  fault(
    'has one transaction at a time',
    'pool-of-two',
    class extends PlainInbox {
      private last: Promise<unknown> = Promise.resolve()
      override once(request: OnceRequest, work: Work) {
        const result = this.last.then(() => super.once(request, work))
        this.last = result.catch(() => {})
        return result
      }
    },
  ),
  ...(['duplicate', 'in_flight', 'discarded', 'handled', 'rejected'] as const).map((leaking) =>
    fault(
      `keeps the connection of a delivery that was ${leaking}`,
      'connection-back',
      class extends PlainInbox {
        override async once(request: OnceRequest, work: Work) {
          const connection = await this.connect()
          const end = await this.runOn(connection, request, work).catch((error) => ({ error }))
          if (('error' in end ? 'rejected' : end.status) !== leaking) this.giveBack(connection)
          if ('error' in end) throw end.error
          return end
        }
      },
    ),
  ),
  fault(
    'does not roll back what has failed',
    ['failed', 'given-up'],
    class extends PlainInbox {
      override async rollBack() {}
    },
  ),
  fault(
    'lets a handler go on in its transaction',
    ['late-handled', 'late-discarded', 'given-up'],
    class extends PlainInbox {
      override handed(connection: PlainConnection) {
        return new PlainTransaction(connection, false)
      }
    },
  ),
  fault(
    'sends the end of a nested transaction whenever it comes',
    'nested',
    class extends PlainInbox {
      override handed(connection: PlainConnection) {
        const tx = super.handed(connection)
        tx.release = () => connection.release()
        return tx
      }
    },
  ),
  fault(
    'keeps a connection that is lost',
    ['lost-idle', 'lost-running', 'lost-commit'],
    class extends PlainInbox {
      override isUsable() {
        return true
      }
    },
  ),
  fault(
    'does not mind an error of COMMIT',
    ['lost-running', 'lost-commit', 'lost-reply'],
    class extends PlainInbox {
      override callUnlessLost(_: PlainConnection, work: Work, tx: PlainTransaction) {
        return work(tx)
      }
      override commit(connection: PlainConnection) {
        return super.commit(connection).catch(() => {})
      }
    },
  ),
  fault(
    'looks for the record when a COMMIT has failed, and guesses the rest',
    'lost-reply',
    class extends PlainInbox {
      override commit(connection: PlainConnection) {
        return super.commit(connection).catch((error) => {
          if (connection.database.records.size === 0) throw error
        })
      }
    },
  ),
  fault(
    'runs an event again whose COMMIT has failed',
    ['lost-commit', 'lost-reply'],
    class extends PlainInbox {
      override async runOn(connection: PlainConnection, request: OnceRequest, work: Work) {
        try {
          return await super.runOn(connection, request, work)
        } catch (error) {
          if (!connection.isLost) throw error
          return super.runOn(connection.database.connect(), request, work)
        }
      }
    },
  ),
  fault(
    'waits for its work though the connection is lost',
    'lost-at-once',
    class extends PlainInbox {
      override callUnlessLost(_: PlainConnection, work: Work, tx: PlainTransaction) {
        return work(tx)
      }
    },
  ),
  storing('stores 254 characters', 'key-long', (key) => key.slice(0, 254)),
  storing('stores small letters', 'key-case', (key) => key.toLowerCase()),
  storing('stores no spaces at the end', 'key-spaces', (key) => key.trimEnd()),
  storing('stores letters and digits', 'key-ascii', (key) => key.replaceAll(/[^\w/-]/g, '_')),
  fault(
    'keeps each record for a day',
    'retained',
    class extends PlainInbox {
      override record(connection: PlainConnection, key: string) {
        return super.record(connection, key, 24 * 3_600_000)
      }
    },
  ),
  fault(
    'stores a date after 2038 as zero',
    'retained-long',
    class extends PlainInbox {
      override record(connection: PlainConnection, key: string, retainMs: number) {
        return super.record(connection, key, Date.now() + retainMs < 2 ** 31 * 1000 ? retainMs : 0)
      }
    },
  ),
  fault(
    'finds its tables missing',
    'check',
    class extends PlainInbox {
      override check() {
        return Promise.reject(new Error('no such table'))
      }
    },
  ),
  fault(
    'reports another pool',
    'connections',
    class extends PlainInbox {
      override readonly connections = { max: 10 }
    },
  ),
]
