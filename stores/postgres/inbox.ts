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
import { keyOfCheck, requireRow, tryOut } from './check.js'
import { driverOf, type TransactionOf } from './drivers/choose.js'
import { type PostgresDriver, unchecked } from './drivers/driver.js'
import type { PgPool } from './drivers/pg.js'
import type { PostgresJs } from './drivers/postgres-js.js'
import { joinableOf } from './failures/failures.js'
import { newestDdl, newestTable } from './newest.js'
import { liveRecord, opener } from './open.js'
import { runnerOf } from './run.js'
import { tableOf } from './table.js'
import { type Ask, locationIn, locationOf } from './table-location.js'

export interface PostgresInboxOptions {
  /** Its table: a name, or a schema and a name. Default `tix_webhooks_inbox`, in the schema in which the first statement finds it. */
  table?: string | undefined
  /**
   * How long a transaction may be idle between two statements of a handler before the server ends it, in seconds, so that a
   * machine that vanished does not hold an event for hours. Default 60; a limit of the server's own wins.
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

/** Options for a `Pool` of pg whose handlers get another object than its client. */
export interface PostgresInboxAsOptions<Client, Tx> extends PostgresInboxOptions {
  /**
   * Makes `ctx.tx` of the client that is in the transaction, for a library that wraps one: `(client) => drizzle(client)`.
   * Called for each delivery. The library cannot begin transactions on that client: it is in one.
   */
  as(client: Client): Tx
}

/** A transactional inbox. */
export interface PostgresInbox<Tx> extends Inbox<Tx>, HandledRecords, Purgeable {
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
   * @throws StoreError when Postgres fails, or the table is missing: let it leave the handler
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
   *       await ctx.tx.query('UPDATE listing SET state = $2 WHERE event_id = $1', [id, event.type])
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
   * Resolves if a delivery could be recorded: it begins as one does, and rolls that back. It does not ask for the table of `recordIfNewest`, which
   * not every app uses.
   *
   * @throws StoreError otherwise, with advice and without credentials
   */
  check(): Promise<void>
  /** Creates the tables of the records and of `recordIfNewest` if they are missing. For your deploy; several may run at once. */
  migrate(): Promise<void>
  /** The SQL that `migrate` runs, for tools of your own. */
  readonly ddl: string
}

const COLUMNS = {
  key: 'text COLLATE "C" PRIMARY KEY',
  handled_at: 'timestamptz NOT NULL DEFAULT now()',
  expires_at: 'timestamptz NOT NULL',
}

/**
 * Effects exactly once: handlers get `ctx.tx`, a transaction of your database. Their writes through it are committed together with
 * the record that the event was handled, or not at all. A process that dies at any moment changes nothing.
 *
 * A handler holds a connection while it runs. So there are as many runs at the same time as the pool has connections, but one, which is left
 * to the rest of your app: see the option `concurrency`. An effect outside of the database,
 * such as an e-mail, belongs into a row that is sent after the commit.
 *
 * @param pool a `Pool` of pg, the `sql` of postgres.js, or a driver for another library
 * @throws TypeError when it is something else, such as a `DataSource` of TypeORM, or an option is invalid
 * @example
 * ```ts
 * const inbox = postgresInbox(new Pool({ connectionString: process.env.DATABASE_URL }))
 * await inbox.migrate() // when you deploy
 * tixWebhooks({
 *   secret,
 *   inbox,
 *   namespace: 'orders',
 *   on: {
 *     'order.created': async (event, ctx) => {
 *       await ctx.tx.query('INSERT INTO orders (id, data) VALUES ($1, $2)', [event.data.order.id, event.data])
 *     },
 *   },
 * })
 * ```
 */
export function postgresInbox<Pool extends PgPool, Tx>(
  pool: Pool,
  options: PostgresInboxAsOptions<TransactionOf<Pool>, Tx>,
): PostgresInbox<Tx>
export function postgresInbox<Pool extends PgPool | PostgresJs>(
  pool: Pool,
  options?: PostgresInboxOptions,
): PostgresInbox<TransactionOf<Pool>>
export function postgresInbox<Tx>(
  driver: PostgresDriver<Tx>,
  options?: PostgresInboxOptions,
): PostgresInbox<Tx>
export function postgresInbox<Tx>(
  pool: PgPool | PostgresJs | PostgresDriver<Tx>,
  options: AnyInboxOptions<Tx> = {},
): PostgresInbox<Tx> {
  return checkedFor(postgresInbox, () => createInbox(pool, options))
}

type AnyInboxOptions<Tx> = PostgresInboxOptions & { as?(client: never): Tx }

function createInbox<Tx>(
  pool: PgPool | PostgresJs | PostgresDriver<Tx>,
  options: AnyInboxOptions<Tx>,
): PostgresInbox<Tx> {
  options = checkOptionNames(options, [
    'table',
    'idleTimeoutSeconds',
    'purgeEverySeconds',
    'retentionSeconds',
    'as',
  ])
  if (options.as !== undefined && typeof options.as !== 'function') {
    throw new TypeError(
      `as must be a function, such as (client) => drizzle(client), not ${describeValue(options.as)}.`,
    )
  }
  const idleMs = checkSeconds(options.idleTimeoutSeconds ?? DEFAULT_IDLE_SECONDS) * 1000
  const driver = driverOf<Tx>(pool, options.as)
  const location = locationIn(pool, options.table ?? TABLE)
  const table = tableOf({
    location,
    columns: COLUMNS,
    migrate: MIGRATE,
  })
  const run = runnerOf(driver, table, idleMs)
  const open = opener(driver, table, idleMs)
  const finding = table.byName(liveRecord)
  const newest = newestTable(location, driver, MIGRATE)
  let longestRetentionMs = checkRetentionSeconds(options.retentionSeconds) * 1000
  const { start, purge } = createPurger(deleteExpired, options.purgeEverySeconds)

  async function deleteExpired(limit: number): Promise<number> {
    const records = await purgeRecords(limit)
    // In a transaction of its own: the user may have no rights on the other table.
    return records === limit ? records : records + (await newest.purge(limit - records))
  }

  function purgeRecords(limit: number): Promise<number> {
    return transactOnly((tx) => table.purge((...query) => driver.query(tx, ...query), limit))
  }

  /** A transaction without a handler. */
  async function transactOnly<T>(work: (tx: unknown) => Promise<T>): Promise<T> {
    try {
      return await driver.transaction(work, unchecked)
    } catch (error) {
      throw table.unavailable(error)
    }
  }

  /** Asks in the first statements of a transaction, which with pg are sent together with its BEGIN. */
  function asking<T>(work: (ask: Ask) => Promise<T>): Promise<T> {
    return transactOnly((tx) => work((...query) => driver.first(tx, ...query)))
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
      const runJoined = runnerOf(driver, table, idleMs, joinable.table)
      return {
        async once(request, work) {
          received(request)
          checkKey(request.failureKey)
          return runJoined(request, work)
        },
        keep: (failed) => joinable.keepUnlessHandled(failed, table),
      }
    },
    async isHandled(key) {
      checkKey(key)
      return asking(async (ask) => {
        await table.find(ask)
        return (await ask(finding(), [key])).length === 1
      })
    },
    check: () =>
      tryOut(driver, async (_, tx) => {
        const { status } = await open(tx, { key: keyOfCheck(), retainMs: 1_000 })
        requireRow(status === 'opened', table.name)
      }).catch((error) => {
        throw table.unavailable(error)
      }),
    recordIfNewest: recordIfNewest as PostgresInbox<Tx>['recordIfNewest'],
    // Of a Pool of pg or postgres.js: a driver of the user's may have any number.
    connections: sharedConnections(pool, (pool as { options?: { max?: unknown } | null }).options?.max),
    hint: () => driver.hint?.(),
    purge,
    async migrate() {
      await table.migrate(driver)
      await newest.migrate(driver)
    },
    ddl: `${table.ddl}\n${newest.ddl}`,
  }
}

const TABLE = 'tix_webhooks_inbox'
const MIGRATE = 'inbox.migrate()'

/** The SQL that creates the tables, by their default names. */
export const inboxDdl: string = [
  tableOf({ location: locationOf(TABLE), columns: COLUMNS, migrate: '' }).ddl,
  newestDdl(locationOf(TABLE)),
].join('\n')

function checkSeconds(value: number): number {
  if (typeof value !== 'number' || !(value >= 1) || value > MAX_IDLE_SECONDS) {
    throw new TypeError(
      `idleTimeoutSeconds must be a number of seconds from 1 to ${MAX_IDLE_SECONDS}, not ${describeValue(value)}.`,
    )
  }
  return Math.ceil(value)
}
