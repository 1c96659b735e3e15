import type { IdempotencyStore, OnceRequest } from 'tix-webhooks'
import type { InboxHarness } from 'tix-webhooks/testing'
import type { EventRow } from '../../../src/ledger/transition.js'
import { modelStore } from './model-store.js'
import { type Faults, type Patch, patched } from './patched.js'
import { PlainDatabase, PlainInbox, PlainTransaction } from './plain-inbox.js'

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
    store: async () => storeOn(database),
    ...(patch && { timeoutMs: 25 }),
  }
}

/** A store on the table of the inboxes, which looks at their locks. */
function storeOn(database: PlainDatabase): IdempotencyStore {
  const { rows } = database
  const store = modelStore({
    rows,
    get nowMs() {
      return database.now
    },
  })
  return {
    ...store,
    claim: async (request) =>
      database.locks.has(request.key) ? { status: 'in_flight', retryAfterMs: 5_000 } : store.claim(request),
  }
}

/** Takes another request for that of a delivery. */
const taking =
  (change: (request: OnceRequest) => Partial<OnceRequest>): Patch<PlainInbox> =>
  (right) => ({ once: (request, work) => right.once({ ...request, ...change(request) }, work) })

/** Stores other keys. */
const storing = (stored: (key: string) => string): Patch<PlainInbox> =>
  taking(({ key }) => ({ key: key === null ? null : stored(key) }))

/** Keeps the connection of a delivery that ended so. */
const keepingConnection =
  (leaking: string): Patch<PlainInbox> =>
  (right) => ({
    async once(request, work) {
      const connection = await right.connect()
      const end = await right.runOn(connection, request, work).catch((error) => ({ error }))
      if (('error' in end ? 'rejected' : end.status) !== leaking) right.giveBack(connection)
      if ('error' in end) throw end.error
      return end
    },
  })

/** A transaction whose writes are committed one by one. */
class WithoutTransaction extends PlainTransaction {
  override async write(effect: string): Promise<void> {
    this.connection.database.effects.push(effect)
  }
}

const ENDS: Faults<PlainInbox> = {
  'handled, failed, discarded, given-up': () => ({
    handed: (connection) => new WithoutTransaction(connection),
  }),
  handled: () => ({
    async attempt(work, tx) {
      void work(tx).catch(() => {})
    },
  }),
  // Keeps its records in the process.
  duplicate: (right) => {
    const known = new Set<string>()
    return {
      decide: (row, request) =>
        known.has(`${request.key}`)
          ? { row, answer: { status: 'duplicate' } }
          : right.decide(undefined, request),
      record: async (_, key) => void known.add(key),
    }
  },
  // Commits only what has written something.
  'handled-empty': () => ({
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
  }),
  failed: [
    // Records an event before it calls the work.
    () => ({
      async record({ database }, key, row) {
        database.rows.set(key, row)
      },
    }),
    // Takes an error that is falsy for none.
    (right) => ({
      attempt: (work, tx) =>
        right.attempt(work, tx).catch((error) => {
          if (error) throw error
        }),
    }),
  ],
  'failed, given-up': () => ({ async rollBack() {} }),
  'failed-error': (right) => ({
    once: (request, work) =>
      right.once(request, work).catch((cause) => {
        throw new Error('the work failed', { cause })
      }),
  }),
  discarded: () => ({ discard: async () => ({ status: 'discarded' }) }),
  // Records what is discarded in the transaction of the work.
  'discarded-failed': (right) => ({
    async rollBack(connection) {
      const tx = connection as unknown as { transaction?: { hasFailed: boolean } }
      if (!tx.transaction?.hasFailed) await right.rollBack(connection)
    },
  }),
  'null-key': [
    taking(({ key }) => ({ key: String(key) })),
    // Has no transaction without a key.
    (right) => ({
      async runOn(connection, request, work) {
        if (request.key !== null) return right.runOn(connection, request, work)
        await work(new PlainTransaction(connection))
        return { status: 'handled' }
      },
    }),
  ],
  swallowed: () => ({ commit: async (connection) => void (await connection.commit()) }),
  'late-handled, late-discarded, given-up': () => ({
    handed: (connection) => new PlainTransaction(connection, false),
  }),
  // Sends the end of a nested transaction whenever it comes.
  nested: (right) => ({
    handed(connection) {
      const tx = right.handed(connection)
      tx.release = () => connection.release()
      return tx
    },
  }),
}

const OVERLAP: Faults<PlainInbox> = {
  // Waits for the delivery that is in flight.
  'in-flight, in-flight-other': () => ({
    async lock(connection, key) {
      while (!(await connection.lock(key))) await new Promise((resolve) => setTimeout(resolve))
      return true
    },
  }),
  // Locks in its process alone.
  'in-flight-other': (right) => {
    const locked = new Set<string>()
    return {
      lock: async (_, key) => !locked.has(key) && locked.add(key) !== undefined,
      async runOn(connection, request, work) {
        const result = await right.runOn(connection, request, work)
        if (result.status !== 'in_flight') locked.delete(String(request.key))
        return result
      },
    }
  },
  // Looks for a lock before it takes it.
  race: () => ({
    async lock(connection, key) {
      const { locks } = connection.database
      if (locks.has(key)) return false
      await Promise.resolve()
      locks.set(key, connection)
      return true
    },
  }),
  // Has one transaction at a time.
  'pool-of-two': (right) => {
    let last: Promise<unknown> = Promise.resolve()
    return {
      once(request, work) {
        const result = last.then(() => right.once(request, work))
        last = result.catch(() => {})
        return result
      },
    }
  },
  'connection-back': ['duplicate', 'in_flight', 'discarded', 'handled', 'rejected'].map(keepingConnection),
  connections: () => ({ connections: { max: 10 } }),
  check: () => ({ check: () => Promise.reject(new Error('no such table')) }),
}

const LOST: Faults<PlainInbox> = {
  'lost-idle, lost-running, lost-commit': () => ({ isUsable: () => true }),
  // Does not mind an error of COMMIT.
  'lost-running, lost-commit, lost-reply': (right) => ({
    attempt: (work, tx) => work(tx),
    commit: (connection) => right.commit(connection).catch(() => {}),
  }),
  'lost-reply': [
    // Records an event when it has committed the writes.
    (right) => ({
      async record() {},
      async runOn(connection, request, work) {
        const result = await right.runOn(connection, request, work)
        const { row } = right.decide(undefined, request)
        if (request.key !== null && row !== undefined) await right.record(connection, request.key, row)
        return result
      },
    }),
    // Looks for the record when a COMMIT has failed, and guesses the rest.
    (right) => ({
      commit: (connection) =>
        right.commit(connection).catch((error) => {
          if (connection.database.rows.size === 0) throw error
        }),
    }),
  ],
  // Runs an event again whose COMMIT has failed.
  'lost-commit, lost-reply': (right) => ({
    runOn: (connection, request, work) =>
      right.runOn(connection, request, work).catch((error) => {
        if (!connection.isLost) throw error
        return right.runOn(connection.database.connect(), request, work)
      }),
  }),
  'lost-at-once': () => ({ attempt: (work, tx) => work(tx) }),
}

const RECORDS: Faults<PlainInbox> = {
  'key-long': storing((key) => key.slice(0, 254)),
  'key-case': storing((key) => key.toLowerCase()),
  'key-spaces': storing((key) => key.trimEnd()),
  'key-ascii': storing((key) => key.replaceAll(/[^\w/-]/g, '_')),
  retained: taking(() => ({ retainMs: 24 * 3_600_000 })),
  'retained-long': taking(({ retainMs }) => ({
    retainMs: Date.now() + retainMs < 2 ** 31 * 1000 ? retainMs : 0,
  })),
}

/** Writes something else when a transaction is opened. */
const opening =
  (change: (row: EventRow, before: EventRow | undefined) => Partial<EventRow>): Patch<PlainInbox> =>
  (right) => ({
    decide(before, request) {
      const { row, answer } = right.decide(before, request)
      return { answer, row: row === undefined || row === before ? row : { ...row, ...change(row, before) } }
    },
  })

/** Opens it over another row. */
const over =
  (change: (row: EventRow) => Partial<EventRow>): Patch<PlainInbox> =>
  (right) => ({ decide: (row, request) => right.decide(row && { ...row, ...change(row) }, request) })

const FAILURES: Faults<PlainInbox> = {
  failure: [
    opening((_, before) => ({ failure: before?.failure })),
    opening(() => ({ attempt: 1 })),
    (right) => ({ keep: async (failed) => (right.isLocked(failed.key) ? 'in_flight' : 'failing') }),
  ],
  'failure-discarded': [
    (right) => ({ discard: (connection, request) => right.discard(connection, request, '') }),
    (right) => ({
      discard: (connection, request, reason) =>
        right.transact(connection, request, async () => {}, { reason }).then(() => ({ status: 'handled' })),
    }),
  ],
  parked: [
    over(({ failure }) => ({ failure: failure && { ...failure, state: 'failing' } })),
    // Runs any replay.
    (right) => ({
      decide: (row, request) =>
        right.decide(
          row,
          request.replay && row?.failure
            ? { ...request, replay: { seen: row.failure.count + row.failure.replays } }
            : request,
        ),
    }),
  ],
  'keep-in-flight': (right) => ({
    async commit(connection) {
      const kept = new Map([...connection.database.rows].filter(([, { failure }]) => failure))
      await right.commit(connection)
      for (const [key, row] of kept) connection.database.rows.set(key, row)
    },
  }),
  'discard-in-flight': () => ({ isLocked: () => false }),
  lease: over(() => ({ leaseUntil: 0 })),
  forget: (right) => ({ forget: async (key) => (await right.forget(key)) || true }),
  'failure-retained': over(({ failure }) => (failure ? { expiresAt: Infinity } : {})),
}

export const FAULTY_INBOXES: Faults<PlainInbox> = { ...ENDS, ...OVERLAP, ...LOST, ...RECORDS, ...FAILURES }
