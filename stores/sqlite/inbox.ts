import {
  type Change,
  type HandledRecords,
  type Inbox,
  isDiscard,
  type OnceRequest,
  type OnceResult,
  type Purgeable,
  StoreError,
} from '../../src/index.js'
import {
  checkedClock,
  checkedFor,
  checkKey,
  checkOptionNames,
  checkRetentionSeconds,
  DEFAULT_RETENTION_SECONDS,
} from '../../src/internal.js'
import { checkOnce } from '../lib/store-rules.js'
import { createPurger } from '../sql/purge.js'
import type { SqliteDatabase } from './database.js'
import { DeliveryTransaction, isCommitting, isRecorded, recordHandled } from './delivery-transaction.js'
import { sqliteFailuresInside } from './failures.js'
import { newestTable } from './newest.js'
import { sqliteTable } from './table.js'

export interface SqliteInboxOptions {
  /** The name of its table. Default `tix_webhooks_inbox`. */
  table?: string | undefined
  /** Milliseconds since the epoch. Default `Date.now`: a wall clock, because the records must survive a restart. */
  now?: (() => number) | undefined
  /** Purges in the background, every so many seconds, from the first delivery on. Default: only when you call `purge`. */
  purgeEverySeconds?: number | undefined
  /**
   * How long `recordIfNewest` remembers a change, in seconds; longer if a receiver of this inbox keeps its records for longer, or has failures in
   * this database: then for their retention and 7 days. It must be the same in each process that asks `recordIfNewest`. Default 604,800 (7 days);
   * at least 262,800 (73 h).
   */
  retentionSeconds?: number | undefined
}

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

/** A transactional inbox. */
export interface SqliteInbox<Db> extends Inbox<SqliteTransaction<Db>>, HandledRecords, Purgeable {
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
   * Deletes records, and then the changes of `recordIfNewest`, past their retention, oldest first. A change is kept for
   * `retentionSeconds`, or for the longest retention of a receiver of this inbox.
   *
   * @param options.limit the most records and changes to delete, so that one call stays short. Default 1,000
   * @returns the number of deleted records and changes
   */
  purge(options?: { readonly limit?: number }): Promise<number>
  /**
   * Resolves if the database is open, can be written, and has the table of the records; it changes no record. It does not ask for the table
   * of `recordIfNewest`, which not every app uses.
   *
   * @throws StoreError otherwise, with advice
   */
  check(): Promise<void>
  /** Creates the tables of the records and of `recordIfNewest` if they are missing. For the start of your app; several processes may run it at once. */
  migrate(): Promise<void>
  /** The SQL that `migrate` runs, for tools of your own. */
  readonly ddl: string
}

/**
 * Effects exactly once, in a file: the handler's writes in `ctx.tx.commit` and the record that the event was handled are committed
 * together, or not at all. Two deliveries of one event may overlap; the effects of one of them are kept.
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
  options = checkOptionNames(options, ['table', 'now', 'purgeEverySeconds', 'retentionSeconds'])
  const table = sqliteTable(db, {
    table: options.table ?? TABLE,
    columns: {
      key: 'TEXT NOT NULL PRIMARY KEY',
      handled_at: 'INTEGER NOT NULL',
      expires_at: 'INTEGER NOT NULL',
    },
    migrate: MIGRATE,
  })
  const newest = newestTable(db, options.table ?? TABLE, MIGRATE)
  let longestRetentionMs = checkRetentionSeconds(options.retentionSeconds) * 1000
  const now = checkedClock(options.now)
  const { start, purge } = createPurger(async (limit) => {
    const records = table.purge({ now: now(), limit })
    return records === limit ? records : records + newest.purge({ now: now(), limit: limit - records })
  }, options.purgeEverySeconds)

  function recordIfNewest(given: Db, change: Change | readonly Change[]): boolean | boolean[] {
    if (given !== db || !isCommitting(db)) throw notInCommit()
    const results = newest.record([change].flat(), Math.ceil(now() + longestRetentionMs))
    return Array.isArray(change) ? results : results[0] === true
  }

  function remember(ms: number): void {
    longestRetentionMs = Math.max(longestRetentionMs, ms)
  }

  /** Whether the event of a request is handled already. */
  function isDuplicate(request: OnceRequest): boolean {
    checkOnce(request)
    remember(request.retainMs)
    start()
    return request.key !== null && isRecorded(table, request.key, now())
  }

  /** @param forget called in the transaction that records the event */
  async function run(
    { key, retainMs }: OnceRequest,
    work: (tx: SqliteTransaction<Db>) => Promise<void>,
    forget?: () => void,
  ): Promise<OnceResult> {
    const transaction = new DeliveryTransaction(db, table, { key, retainMs, now, forget })
    let isDiscarded = false
    try {
      await work({ commit: (effects) => transaction.commit(effects) } as SqliteTransaction<Db>)
    } catch (error) {
      if (transaction.end !== 'duplicate' && !isDiscard(error)) throw error
      isDiscarded = true
    } finally {
      transaction.close()
    }
    if (transaction.end === 'failed' && !isDiscarded) throw commitIgnored()
    if (transaction.end === undefined || transaction.end === 'failed') transaction.commitWith(() => {})
    if (transaction.end === 'duplicate') return { status: 'duplicate' }
    return { status: isDiscarded ? 'discarded' : 'handled' }
  }

  return {
    once: async (request, work) => (isDuplicate(request) ? { status: 'duplicate' } : run(request, work)),
    joinFailures(failures) {
      const joined = sqliteFailuresInside.get(failures)
      if (joined?.db !== db) return undefined
      // The event of a failure may be days older than that: the service retries it.
      remember(joined.retentionMs + DEFAULT_RETENTION_SECONDS * 1000)
      return {
        async once(request, work) {
          const { failureKey, runsParked } = request
          checkKey(failureKey)
          if (isDuplicate(request)) return { status: 'duplicate' }
          // If another process handles the event between these two reads, the failure is gone, or its transaction finds the record.
          try {
            if (joined.stateOf(failureKey) === 'parked' && !runsParked) return { status: 'parked' }
          } catch (error) {
            request.report(error)
            return run(request, work)
          }
          return run(request, work, () => joined.delete(failureKey))
        },
        keep: (failed) => joined.keepUnless(() => isRecorded(table, failed.key, now()), failed),
      }
    },
    async isHandled(key) {
      checkKey(key)
      return isRecorded(table, key, now())
    },
    check: async () =>
      table.check((key) => isRecorded(table, key, now()) || recordHandled(table, { key, retainMs: 0, now })),
    recordIfNewest: recordIfNewest as SqliteInbox<Db>['recordIfNewest'],
    purge,
    async migrate() {
      table.migrate()
      newest.migrate()
    },
    ddl: `${table.ddl}\n${newest.ddl}`,
  }
}

const TABLE = 'tix_webhooks_inbox'
const MIGRATE = 'inbox.migrate()'

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
