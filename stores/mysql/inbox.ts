import type { Change, HandledRecords, Inbox, OnceRequest, OnceResult, Purgeable } from '../../src/index.js'
import {
  checkedFor,
  checkKey,
  checkOptionNames,
  checkRetentionSeconds,
  DEFAULT_IDLE_SECONDS,
  DEFAULT_RETENTION_SECONDS,
  describeValue,
  MAX_IDLE_SECONDS,
} from '../../src/internal.js'
import { checkOnce } from '../lib/store-rules.js'
import { createPurger } from '../sql/purge.js'
import { sharedConnections } from '../sql/shared-connections.js'
import { isForbidden } from './advice.js'
import { retryConflicts } from './conflicts.js'
import { type Database, databaseOf } from './database.js'
import { driverOf, type TransactionOf } from './drivers/choose.js'
import type { MysqlPool } from './drivers/connection.js'
import type { Ask, MysqlDriver } from './drivers/driver.js'
import { limitOf } from './drivers/pool.js'
import { joinableOf } from './failures/failures.js'
import { locksTable } from './locks.js'
import { newestTable } from './newest.js'
import { flushed, handledOf, type InboxTables } from './open.js'
import { runnerOf } from './run.js'
import { pastRetention, tableOf } from './table.js'

export interface MysqlInboxOptions {
  /** Its table: a name, or a database and a name. Default `tix_webhooks_inbox`, in the database of the pool. */
  table?: string | undefined
  /**
   * How long a transaction may be idle between two statements of a handler before the server ends it, in seconds, so that a
   * machine that vanished does not hold an event for hours. Default 60; a lower `wait_timeout` of the session's own wins.
   */
  idleTimeoutSeconds?: number | undefined
  /** Purges in the background, every so many seconds, from the first delivery on. Default: only when you call `purge`. */
  purgeEverySeconds?: number | undefined
  /**
   * How long `recordIfNewest` remembers a change, in seconds; longer if a receiver of this inbox keeps its records for longer. It must be the
   * same in each process that asks `recordIfNewest`. Default 604,800 (7 days); at least 262,800 (73 h).
   */
  retentionSeconds?: number | undefined
}

/** Options for a pool whose handlers get another object than its connection. */
export interface MysqlInboxAsOptions<Connection, Tx> extends MysqlInboxOptions {
  /**
   * Makes `ctx.tx` of the connection that is in the transaction, for a library that wraps one: `(connection) => drizzle(connection)`.
   * Called for each delivery. The library cannot begin transactions on that connection: it is in one.
   */
  as(connection: Connection): Tx
}

/** A transactional inbox. */
export interface MysqlInbox<Tx> extends Inbox<Tx>, HandledRecords, Purgeable {
  /**
   * Keeps a late event from undoing a newer one: true if no newer change of the subject has been applied. The change is then recorded, and
   * committed together with the handler's writes. Of two that are equal in date and rank, the later to arrive is newest. It waits for
   * another transaction that has recorded a change of the same subject and is not over. For state, not for sums: docs/ordering.md.
   *
   * With a list, the results are in its order, and transactions with the same subjects cannot deadlock: those of several calls can.
   *
   * @param tx `ctx.tx`
   * @returns false if a newer change was applied before: nothing is recorded
   * @throws TypeError when the date is no date, the subject is empty, the rank is no whole number, or `tx` is not in the transaction
   * @throws StoreError when the database fails, or the table is missing: let it leave the handler
   * @example
   * ```ts
   * tixWebhooks({
   *   secret,
   *   inbox,
   *   namespace: 'listing',
   *   on: {
   *     'event.*': async (event, ctx) => {
   *       const { id } = event.data.event as { id: string }
   *       const rank = event.type === 'event.cancelled' ? 1 : 0
   *       if (!(await inbox.recordIfNewest(ctx.tx, { subject: id, at: event.created_at, rank }))) return
   *       await ctx.tx.query('UPDATE listing SET state = ? WHERE event_id = ?', [event.type, id])
   *     },
   *   },
   * })
   * ```
   */
  recordIfNewest(tx: Tx, change: Change): Promise<boolean>
  recordIfNewest(tx: Tx, changes: readonly Change[]): Promise<boolean[]>
  /**
   * Deletes records, and then the changes of `recordIfNewest`, past their retention, oldest first. A change is kept for
   * `retentionSeconds`, or for the longest retention of a receiver of this inbox. Without rights on their table it deletes records alone,
   * and warns once if there are changes.
   *
   * @param options.limit the most records and changes to delete, so that one call stays short. Default 1,000
   * @returns the number of deleted records and changes
   */
  purge(options?: { readonly limit?: number }): Promise<number>
  /**
   * Resolves if the database can be reached and written, and has the tables of the records and the locks and the rights on them; it changes no
   * record. It does not ask for the table of `recordIfNewest`, which not every app uses.
   *
   * @throws StoreError otherwise, with advice and without credentials
   */
  check(): Promise<void>
  /** Creates the tables of the records, of the locks and of `recordIfNewest` if they are missing. For your deploy; several may run at once. */
  migrate(): Promise<void>
  /** The SQL that `migrate` runs, for tools of your own. */
  readonly ddl: string
}

const COLUMNS = {
  key: 'VARBINARY(255) NOT NULL',
  // Of the delivery that has written it.
  run: 'VARBINARY(64) NOT NULL',
  handled_at: 'DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)',
  expires_at: 'DATETIME(6) NOT NULL',
}

/**
 * Effects exactly once: handlers get `ctx.tx`, a transaction of your database. Their writes through it are committed together with
 * the record that the event was handled, or not at all. A process that dies at any moment changes nothing.
 *
 * A handler holds a connection while it runs. So there are as many runs at the same time as the pool has connections, but one, which is left
 * to the rest of your app: see the option `concurrency`. An effect outside of the database,
 * such as an e-mail, belongs into a row that is sent after the commit.
 *
 * @param pool a pool of `mysql2/promise` or of `mariadb`, or a driver for another library
 * @throws TypeError when it is something else, such as a `DataSource` of TypeORM, or an option is invalid
 * @example
 * ```ts
 * const inbox = mysqlInbox(mysql.createPool(process.env.DATABASE_URL))
 * await inbox.migrate() // when you deploy
 * tixWebhooks({
 *   secret,
 *   inbox,
 *   namespace: 'orders',
 *   on: {
 *     'order.created': async (event, ctx) => {
 *       await ctx.tx.query('INSERT INTO orders (id, buyer) VALUES (?, ?)', [event.data.order.id, event.data.order.buyer.email])
 *     },
 *   },
 * })
 * ```
 */
export function mysqlInbox<Pool extends MysqlPool, Tx>(
  pool: Pool,
  options: MysqlInboxAsOptions<TransactionOf<Pool>, Tx>,
): MysqlInbox<Tx>
export function mysqlInbox<Pool extends MysqlPool>(
  pool: Pool,
  options?: MysqlInboxOptions,
): MysqlInbox<TransactionOf<Pool>>
export function mysqlInbox<Tx>(driver: MysqlDriver<Tx>, options?: MysqlInboxOptions): MysqlInbox<Tx>
export function mysqlInbox<Tx>(
  pool: MysqlPool | MysqlDriver<Tx>,
  options: AnyInboxOptions<Tx> = {},
): MysqlInbox<Tx> {
  return checkedFor(mysqlInbox, () => createInbox(pool, options))
}

type AnyInboxOptions<Tx> = MysqlInboxOptions & { as?(connection: never): Tx }

function createInbox<Tx>(pool: MysqlPool | MysqlDriver<Tx>, options: AnyInboxOptions<Tx>): MysqlInbox<Tx> {
  options = checkOptionNames(options, [
    'table',
    'idleTimeoutSeconds',
    'purgeEverySeconds',
    'retentionSeconds',
    'as',
  ])
  if (options.as !== undefined && typeof options.as !== 'function') {
    throw new TypeError(
      `as must be a function, such as (connection) => drizzle(connection), not ${describeValue(options.as)}.`,
    )
  }
  const idleMs = checkSeconds(options.idleTimeoutSeconds ?? DEFAULT_IDLE_SECONDS) * 1000
  const driver = driverOf<Tx>(pool, options.as)
  const database = databaseOf(pool)
  const given = options.table ?? TABLE
  const tables = inboxTables(database, given)
  const { records, locks } = tables
  const { run, check } = runnerOf(driver, tables, idleMs)
  const newest = newestTable(database, given, driver, MIGRATE)
  let longestRetentionMs = checkRetentionSeconds(options.retentionSeconds) * 1000
  const { start, purge } = createPurger(deleteExpired, options.purgeEverySeconds)

  async function deleteExpired(limit: number): Promise<number> {
    const records = await purgeRecords(limit)
    // In a transaction of its own: the user may have no rights on the other table.
    return records === limit ? records : records + (await newest.purge(limit - records))
  }

  async function purgeRecords(limit: number): Promise<number> {
    try {
      return await retryConflicts(() =>
        driver.transaction(async (tx) => {
          const ask: Ask = (sql) => driver.query(tx, sql)
          await records.find(ask)
          return records.purge(ask, limit)
        }),
      )
    } catch (error) {
      throw records.unavailable(error)
    }
  }

  async function isHandled(key: string): Promise<boolean> {
    try {
      const { rows } = await driver.reading(async (ask) => {
        await records.find(ask)
        return ask(handledOf(records, key))
      })
      if (rows.length > 0) await flushed(driver, records, key)
      return rows.length > 0
    } catch (error) {
      throw records.unavailable(error)
    }
  }

  function remember(retentionMs: number): void {
    longestRetentionMs = Math.max(longestRetentionMs, retentionMs)
  }

  function received(request: OnceRequest): void {
    checkOnce(request)
    remember(request.retainMs)
    start()
  }

  async function recordIfNewest(tx: Tx, given: Change | readonly Change[]): Promise<boolean | boolean[]> {
    const changes = [given].flat()
    const results = await newest.record(tx, changes, longestRetentionMs)
    return Array.isArray(given) ? results : results[0] === true
  }

  return {
    async once(request, work) {
      received(request)
      return run(request, work) as Promise<OnceResult>
    },
    joinFailures(failures) {
      const joinable = joinableOf(failures)
      if (joinable?.pool !== pool) return undefined
      // A replay may come as late, and must still find the newer changes.
      remember(joinable.retentionMs + DEFAULT_RETENTION_SECONDS * 1000)
      const { run: runJoined } = runnerOf(driver, tables, idleMs, joinable)
      return {
        async once(request, work) {
          received(request)
          checkKey(request.failureKey)
          return runJoined(request, work)
        },
        keep: (failed) => joinable.keepUnlessHandled(failed, tables),
      }
    },
    async isHandled(key) {
      checkKey(key)
      return isHandled(key)
    },
    check,
    recordIfNewest: recordIfNewest as MysqlInbox<Tx>['recordIfNewest'],
    connections: sharedConnections(pool, limitOf(pool)),
    hint: () => driver.hint?.(),
    purge,
    async migrate() {
      await records.migrate(driver)
      await locks.migrate(driver)
      await newest.migrate(driver)
      // The user of a migration may not have the rights of the app's.
      await check().catch((error) => {
        if (!isForbidden(error)) throw error
      })
    },
    ddl: [records.ddl, locks.ddl, newest.ddl].join('\n'),
  }
}

const TABLE = 'tix_webhooks_inbox'
const MIGRATE = 'inbox.migrate()'

function inboxTables(database: Database, given: string): InboxTables {
  const records = tableOf({
    database,
    given,
    columns: COLUMNS,
    indexes: { expires_at: '(expires_at)' },
    expired: pastRetention(),
    migrate: MIGRATE,
  })
  return { records, locks: locksTable(database, given, MIGRATE) }
}

/** The SQL that creates the tables, by their default names. */
export function inboxDdl(): string {
  const database = databaseOf({})
  const { records, locks } = inboxTables(database, TABLE)
  return [records.ddl, locks.ddl, newestTable(database, TABLE, undefined, MIGRATE).ddl].join('\n')
}

function checkSeconds(value: number): number {
  if (typeof value !== 'number' || !(value >= 1) || value > MAX_IDLE_SECONDS) {
    throw new TypeError(
      `idleTimeoutSeconds must be a number of seconds from 1 to ${MAX_IDLE_SECONDS}, not ${describeValue(value)}.`,
    )
  }
  return Math.ceil(value)
}
