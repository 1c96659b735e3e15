import { isDiscard } from 'tix-webhooks'
import type { InboxHarness } from 'tix-webhooks/testing'
import { type Fault, faultOf, type Patch, patched } from './patched.js'
import { PlainDatabase } from './plain-database.js'
import { PlainInbox, PlainTransaction } from './plain-inbox.js'

const fault = faultOf<PlainInbox>

/** A short limit: with a fault, many cases wait in vain. */
export function inboxHarness(patch?: Patch<PlainInbox>): InboxHarness<PlainTransaction> {
  const database = new PlainDatabase()
  return {
    create: async ({ connections }) => {
      const inbox = new PlainInbox(database, connections)
      return patch === undefined ? inbox : patched(inbox, patch)
    },
    write: (tx, id) => tx.write(id),
    read: async () => [...database.effects],
    fail: (tx) => tx.fail(),
    nest: (tx, work) => tx.nest(work),
    cut: async (when) => database.cut(when),
    async advance(ms) {
      database.now += ms
    },
    ...(patch && { timeoutMs: 25 }),
  }
}

/** An inbox that stores other keys. */
function storing(what: string, seenBy: string, stored: (key: string) => string): Fault<PlainInbox> {
  return fault(what, seenBy, () => ({ keyOf: (key) => (key === null ? null : stored(key)) }))
}

/** A transaction whose writes are committed one by one. */
class WithoutTransaction extends PlainTransaction {
  override async write(effect: string): Promise<void> {
    this.connection.database.effects.push(effect)
  }
}

export const FAULTY_INBOXES: readonly Fault<PlainInbox>[] = [
  fault('commits each write by itself', ['handled', 'failed', 'discarded', 'given-up'], () => ({
    handed(connection) {
      return new WithoutTransaction(connection)
    },
  })),
  fault('does not wait for its work', 'handled', () => ({
    async attempt(work, tx) {
      void work(tx).catch(() => {})
    },
  })),
  fault('keeps its records in the process', 'duplicate', () => {
    const known = new Map<string, number>()
    return {
      async deny(_, key) {
        return known.has(key) ? ('duplicate' as const) : undefined
      },
      async record(_, key) {
        known.set(key, 0)
      },
    }
  }),
  fault('commits only what has written something', 'handled-empty', () => ({
    async attempt(work, tx) {
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
    },
  })),
  fault('records an event before it calls the work', 'failed', () => ({
    async record(connection, key, retainMs) {
      connection.database.records.set(key, connection.database.now + retainMs)
    },
  })),
  fault('records an event when it has committed the writes', 'lost-reply', (right) => ({
    async record() {},
    async runOn(connection, request, work) {
      const result = await right.runOn(connection, request, work)
      if (request.key !== null) await right.record(connection, request.key, request.retainMs)
      return result
    },
  })),
  fault('takes an error that is falsy for none', 'failed', () => ({
    async attempt(work, tx) {
      await work(tx).catch((error) => {
        if (error) throw error
      })
    },
  })),
  fault('calls its work again if that has failed', 'failed', (right) => ({
    attempt(work, tx) {
      return right.attempt(work, tx).catch(() => right.attempt(work, tx))
    },
  })),
  fault('wraps the error of its work', 'failed-error', () => ({
    thrown(cause) {
      return new Error('the work failed', { cause })
    },
  })),
  fault('keeps the writes of what is discarded', 'discarded', (right) => ({
    async attempt(work, tx) {
      await work(tx).catch((error) => {
        if (!isDiscard(error)) throw error
      })
    },
    async runOn(connection, request, work) {
      let isDiscarded = false
      const { status } = await right.runOn(connection, request, async (tx) => {
        await work(tx).catch((error) => {
          isDiscarded = isDiscard(error)
          throw error
        })
      })
      return { status: isDiscarded ? ('discarded' as const) : status }
    },
  })),
  fault('does not record what is discarded', 'discarded', () => ({
    async discard() {
      return { status: 'discarded' } as const
    },
  })),
  fault('records what is discarded in the transaction of the work', 'discarded-failed', (right) => ({
    async rollBack(connection) {
      const tx = connection as unknown as { transaction?: { hasFailed: boolean } }
      if (!tx.transaction?.hasFailed) await right.rollBack(connection)
    },
  })),
  fault('records what has no key', 'null-key', () => ({
    keyOf(key) {
      return String(key)
    },
  })),
  fault('has no transaction without a key', 'null-key', (right) => ({
    async runOn(connection, request, work) {
      if (request.key !== null) return right.runOn(connection, request, work)
      try {
        await work(new PlainTransaction(connection))
        return { status: 'handled' }
      } catch (error) {
        if (!isDiscard(error)) throw error
        return { status: 'discarded' }
      }
    },
  })),
  fault('does not look at the answer to COMMIT', 'swallowed', () => ({
    async commit(connection) {
      await connection.commit()
    },
  })),
  fault('waits for the delivery that is in flight', ['in-flight', 'in-flight-other'], () => ({
    async lock(connection, key) {
      while (!(await connection.lock(key))) await new Promise((resolve) => setTimeout(resolve))
      return true
    },
  })),
  fault('locks in its process alone', ['in-flight-other', 'race'], (right) => {
    const locked = new Set<string>()
    return {
      async lock(_, key) {
        return !locked.has(key) && locked.add(key) !== undefined
      },
      async runOn(connection, request, work) {
        const result = await right.runOn(connection, request, work)
        if (result.status !== 'in_flight') locked.delete(String(request.key))
        return result
      },
    }
  }),
  fault('looks for a lock before it takes it', 'race', () => ({
    async lock(connection, key) {
      const { locks } = connection.database
      if (locks.has(key)) return false
      await Promise.resolve()
      locks.set(key, connection)
      return true
    },
  })),
  fault('has one transaction at a time', 'pool-of-two', (right) => {
    let last: Promise<unknown> = Promise.resolve()
    return {
      once(request, work) {
        const result = last.then(() => right.once(request, work))
        last = result.catch(() => {})
        return result
      },
    }
  }),
  ...(['duplicate', 'in_flight', 'discarded', 'handled', 'rejected'] as const).map((leaking) =>
    fault(`keeps the connection of a delivery that was ${leaking}`, 'connection-back', (right) => ({
      async once(request, work) {
        const connection = await right.connect()
        const end = await right.runOn(connection, request, work).catch((error) => ({ error }))
        if (('error' in end ? 'rejected' : end.status) !== leaking) right.giveBack(connection)
        if ('error' in end) throw end.error
        return end
      },
    })),
  ),
  fault('does not roll back what has failed', ['failed', 'given-up'], () => ({
    async rollBack() {},
  })),
  fault('lets a handler go on in its transaction', ['late-handled', 'late-discarded', 'given-up'], () => ({
    handed(connection) {
      return new PlainTransaction(connection, false)
    },
  })),
  fault('sends the end of a nested transaction whenever it comes', 'nested', (right) => ({
    handed(connection) {
      const tx = right.handed(connection)
      tx.release = () => connection.release()
      return tx
    },
  })),
  fault('keeps a connection that is lost', ['lost-idle', 'lost-running', 'lost-commit'], () => ({
    isUsable() {
      return true
    },
  })),
  fault('does not mind an error of COMMIT', ['lost-running', 'lost-commit', 'lost-reply'], (right) => ({
    callUnlessLost(_, work, tx) {
      return work(tx)
    },
    commit(connection) {
      return right.commit(connection).catch(() => {})
    },
  })),
  fault('looks for the record when a COMMIT has failed, and guesses the rest', 'lost-reply', (right) => ({
    commit(connection) {
      return right.commit(connection).catch((error) => {
        if (connection.database.records.size === 0) throw error
      })
    },
  })),
  fault('runs an event again whose COMMIT has failed', ['lost-commit', 'lost-reply'], (right) => ({
    async runOn(connection, request, work) {
      try {
        return await right.runOn(connection, request, work)
      } catch (error) {
        if (!connection.isLost) throw error
        return right.runOn(connection.database.connect(), request, work)
      }
    },
  })),
  fault('waits for its work though the connection is lost', 'lost-at-once', () => ({
    callUnlessLost(_, work, tx) {
      return work(tx)
    },
  })),
  storing('stores 254 characters', 'key-long', (key) => key.slice(0, 254)),
  storing('stores small letters', 'key-case', (key) => key.toLowerCase()),
  storing('stores no spaces at the end', 'key-spaces', (key) => key.trimEnd()),
  storing('stores letters and digits', 'key-ascii', (key) => key.replaceAll(/[^\w/-]/g, '_')),
  fault('keeps each record for a day', 'retained', (right) => ({
    record(connection, key) {
      return right.record(connection, key, 24 * 3_600_000)
    },
  })),
  fault('stores a date after 2038 as zero', 'retained-long', (right) => ({
    record(connection, key, retainMs) {
      return right.record(connection, key, Date.now() + retainMs < 2 ** 31 * 1000 ? retainMs : 0)
    },
  })),
  fault('finds its tables missing', 'check', () => ({
    check() {
      return Promise.reject(new Error('no such table'))
    },
  })),
  fault('reports another pool', 'connections', () => ({
    connections: { max: 10 },
  })),
]
