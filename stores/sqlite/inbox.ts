import {
  type Change,
  type HandledRecords,
  isDiscard,
  type LedgerInbox,
  type OnceRequest,
  type OnceResult,
  type OnceRun,
  StoreError,
} from '../../src/index.js'
import {
  checkedFor,
  checkOptionNames,
  checkRetentionSeconds,
  DEFAULT_RETENTION_SECONDS,
  storableText,
  tokenSource,
} from '../../src/internal.js'
import { checkOnce } from '../lib/store-rules.js'
import { factsOf, ledgerOf } from '../sql/ledger.js'
import { DEFAULT_TABLE, type SqlInboxOptions } from '../sql/options.js'
import { createPurger, type Purged } from '../sql/purge.js'
import { isFinal } from '../sql/verdict.js'
import type { SqliteDatabase } from './database.js'
import { DeliveryTransaction, isCommitting } from './delivery-transaction.js'
import { eventsTable, type SqliteOptions, type SqliteTableMethods } from './events.js'
import { newestTable } from './newest.js'

export interface SqliteInboxOptions extends SqliteOptions, Pick<SqlInboxOptions, 'retentionSeconds'> {}

/** The `ctx.tx` of handlers. */
export interface SqliteTransaction<Db> {
  /**
   * Runs `effects` in a transaction together with the record of the event, and commits both: call it once, at the handler's
   * end, after all that it awaits. `effects` must be synchronous: if it awaited, the statements of another request on the same
   * connection would be in the transaction too. If a handler never calls it, the record alone is committed. After the call the event
   * is recorded, and does not run again whatever the handler throws. Leave BEGIN, COMMIT and ROLLBACK to the inbox, and do not use
   * statements that end a transaction, such as INSERT OR ROLLBACK.
   *
   * @returns the result of `effects`
   * @throws the error of `effects`, after everything was rolled back; `Discard` when another delivery has committed the event
   */
  commit<R>(effects: (db: Db) => R extends PromiseLike<unknown> ? never : R): R
}

/** A transactional inbox, which also keeps the failures of events. */
export interface SqliteInbox<Db>
  extends LedgerInbox<SqliteTransaction<Db>>,
    HandledRecords,
    SqliteTableMethods {
  /**
   * Keeps a late event from undoing a newer one: true if no newer change of the subject has been applied. The change is then recorded, and
   * committed together with the effects. Of two that are equal in date and rank, the later to arrive is newest. For state, not for sums:
   * docs/ordering.md. With a list, the results are in its order.
   *
   * @param db the database that the callback of `ctx.tx.commit` is given: it is to be called in that callback
   * @returns false if a newer change was applied before: nothing is recorded
   * @throws TypeError when the date is no date, the subject is empty, the rank is no whole number, or it is called elsewhere
   * @throws StoreError when SQLite fails, or the table is missing: let it leave the callback
   * @example
   * ```ts
   * tixWebhooks({
   *   secret,
   *   inbox,
   *   namespace: 'listing',
   *   on: {
   *     'event.*': (event, ctx) => {
   *       const { id } = event.data.event as { id: string }
   *       const rank = event.type === 'event.cancelled' ? 1 : 0
   *       ctx.tx.commit((db) => {
   *         if (!inbox.recordIfNewest(db, { subject: id, at: event.created_at, rank })) return
   *         db.prepare('UPDATE listing SET state = ? WHERE event_id = ?').run(event.type, id)
   *       })
   *     },
   *   },
   * })
   * ```
   */
  recordIfNewest(db: Db, change: Change): boolean
  recordIfNewest(db: Db, changes: readonly Change[]): boolean[]
  /**
   * Deletes events, and then the changes of `recordIfNewest`, past their retention, oldest first.
   *
   * @param options.limit the most events and changes to delete, so that one call stays short. Default 1,000
   * @returns the number of deleted events and changes
   */
  purge(options?: { readonly limit?: number }): Promise<number>
  /**
   * Resolves if the database is open, can be written, and has the table of the events; it changes no record. It does not ask for the table
   * of `recordIfNewest`, which not every app uses.
   *
   * @throws StoreError otherwise, with advice
   */
  check(): Promise<void>
}

/**
 * Effects exactly once, in a file: the handler's writes in `ctx.tx.commit` and the record that the event was handled are committed
 * together, or not at all. Two deliveries of one event may overlap; the effects of one of them are kept. What fails is kept too, in the same
 * table, which may be that of a `sqliteStore`.
 *
 * @param db an open database of better-sqlite3, libsql or `node:sqlite`; a file is kept in WAL and at least at `synchronous = FULL`
 * @throws TypeError when it is something else, or an option is invalid
 * @example
 * ```ts
 * const inbox = sqliteInbox(new Database('app.db'))
 * await inbox.migrate() // when your app starts
 * tixWebhooks({
 *   secret,
 *   inbox,
 *   namespace: 'orders',
 *   on: {
 *     'order.created': async (event, ctx) => {
 *       ctx.tx.commit((db) => db.prepare('INSERT INTO orders (id) VALUES (?)').run(event.data.order.id))
 *     },
 *   },
 * })
 * ```
 */
export function sqliteInbox<Db extends SqliteDatabase>(
  db: Db,
  options: SqliteInboxOptions = {},
): SqliteInbox<Db> {
  return checkedFor(sqliteInbox, () => createInbox(db, options))
}

function createInbox<Db extends SqliteDatabase>(db: Db, options: SqliteInboxOptions): SqliteInbox<Db> {
  const given = checkOptionNames(options, ['table', 'now', 'purgeEverySeconds', 'retentionSeconds'])
  const tables = eventsTable(db, given, MIGRATE)
  const { table, events, shared, now } = tables
  const newest = newestTable(db, given.table ?? DEFAULT_TABLE, MIGRATE)
  let longestRetentionMs = checkRetentionSeconds(given.retentionSeconds) * 1000
  const nextToken = tokenSource(() => crypto.randomUUID())
  const { purgeAfter, purge } = createPurger(deleteExpired, given.purgeEverySeconds)

  async function deleteExpired(limit: number, minAgeMs: number): Promise<Purged> {
    const { deleted, parked } = await tables.purge(limit, minAgeMs)
    const changes = deleted < limit ? newest.purge(limit - deleted, now()) : 0
    return { deleted: deleted + changes, parked }
  }

  function recordIfNewest(tx: Db, change: Change | readonly Change[]): boolean | boolean[] {
    if (tx !== db || !isCommitting(db)) throw notInCommit()
    // An older event may be kept for as long, and be replayed then.
    const expiresAt = Math.ceil(now() + longestRetentionMs + DEFAULT_RETENTION_SECONDS * 1000)
    const results = newest.record([change].flat(), expiresAt)
    return Array.isArray(change) ? results : results[0] === true
  }

  /** The run of a handler, or why there is none. If another process writes between this and the commit, the commit notices. */
  function begun({
    key,
    replay,
  }: OnceRequest): OnceRun | Exclude<OnceResult['status'], 'handled'> | undefined {
    if (key === null) return undefined
    const found = events.find(key)
    const seen = found?.seen ?? 0
    if (found !== undefined) {
      if (isFinal(found)) return 'duplicate'
      if (found.leftMs > 0) return 'in_flight'
      if (found.failure === 'parked' && replay === undefined) return 'parked'
    }
    return replay === undefined || replay.seen === seen ? { attempt: seen + 1 } : 'in_flight'
  }

  function recordOf({ key, retainMs, about }: OnceRequest) {
    if (key === null) return undefined
    return { key, token: nextToken(), retain_ms: Math.ceil(retainMs), ...factsOf(about) }
  }

  async function deliver(
    request: OnceRequest,
    work: Parameters<SqliteInbox<Db>['once']>[1],
  ): Promise<OnceResult> {
    const run = begun(request)
    if (typeof run === 'string') return { status: run }
    const transaction = new DeliveryTransaction(db, tables, recordOf(request))
    let discarded: string | undefined
    try {
      const commit: SqliteTransaction<Db>['commit'] = (effects) => transaction.commit(effects) as never
      await work({ commit }, run)
    } catch (error) {
      if (!isRefused(transaction) && !isDiscard(error)) throw error
      discarded = storableText((error as Error).message)
    } finally {
      transaction.close()
    }
    if (transaction.end === 'failed' && discarded === undefined) throw commitIgnored()
    if (transaction.end === undefined || transaction.end === 'failed')
      transaction.commitWith(() => {}, discarded)
    if (isRefused(transaction)) return { status: transaction.end }
    return { status: discarded === undefined ? 'handled' : 'discarded' }
  }

  return {
    ...ledgerOf(shared),
    async once(request, work) {
      checkOnce(request)
      longestRetentionMs = Math.max(longestRetentionMs, request.retainMs)
      return purgeAfter(request.retainMs, () => deliver(request, work))
    },
    check: async () => tables.check(),
    recordIfNewest: recordIfNewest as SqliteInbox<Db>['recordIfNewest'],
    purge,
    async migrate() {
      table.migrate()
      newest.migrate()
    },
    ddl: `${table.ddl}\n${newest.ddl}`,
  }
}

const MIGRATE = 'inbox.migrate()'

function isRefused<T extends { end: unknown }>(
  transaction: T,
): transaction is T & { end: 'duplicate' | 'in_flight' } {
  return transaction.end === 'duplicate' || transaction.end === 'in_flight'
}

function notInCommit(): TypeError {
  return new TypeError(
    'recordIfNewest must be called in the callback of ctx.tx.commit, with the database that it is given: elsewhere, its record would not be committed together with the effects.',
  )
}

function commitIgnored(): StoreError {
  return new StoreError(
    'rolled_back',
    'ctx.tx.commit failed and the handler went on, so nothing that it wrote was kept: let such an error leave the handler.',
  )
}
