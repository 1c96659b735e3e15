import type { FailedDelivery, Failure, FailureGroup, FailureState, KeptFailures } from '../../../src/index.js'
import {
  checkedFor,
  checkFailureFilter,
  checkFailureLimit,
  checkFailureQuery,
  checkFailureRetention,
  checkKey,
  checkOptionNames,
  sharedMap,
} from '../../../src/internal.js'
import { failureIn, groupIn } from '../../sql/kept-rows.js'
import { bytesIn } from '../../sql/kept-text.js'
import { createPurger } from '../../sql/purge.js'
import { unexpectedRows } from '../../sql/unexpected-rows.js'
import { isForbidden, isWrongServer } from '../advice.js'
import { retryConflicts } from '../conflicts.js'
import { type Database, databaseOf } from '../database.js'
import { driverOf } from '../drivers/choose.js'
import type { MysqlPool } from '../drivers/connection.js'
import type { Ask, MysqlDriver, Row } from '../drivers/driver.js'
import type { InboxTables } from '../open.js'
import { type Table, tableOf } from '../table.js'
import { keeper, keepWith } from './keep.js'
import {
  COLUMNS,
  counting,
  deleting,
  getting,
  grouping,
  INDEXES,
  listing,
  locking,
  pastFailures,
} from './statements.js'

export interface MysqlFailuresOptions {
  /** Its table: a name, or a database and a name. Default `tix_webhooks_failures`, in the database of the pool. */
  table?: string | undefined
  /** How long a failure is kept after its last attempt, in seconds. Default 2,592,000 (30 days); at least 262,800 (73 h). */
  retentionSeconds?: number | undefined
  /** Purges in the background, every so many seconds, from the first failure on. Default: only when you call `purge`. */
  purgeEverySeconds?: number | undefined
}

/** The failures in a table of MySQL or MariaDB. */
export interface MysqlFailures extends KeptFailures {
  /**
   * Resolves if the database can be reached and written, and has the table and the rights on it; it changes nothing.
   *
   * @throws StoreError otherwise, with advice and without credentials
   */
  check(): Promise<void>
  /** Creates the table if it is missing. For your deploy; several may run at once. */
  migrate(): Promise<void>
  /** The SQL that `migrate` runs, for tools of your own. */
  readonly ddl: string
}

/** Failures as the inbox of the same pool uses them. */
export interface JoinableFailures {
  /** The pool or the driver that they were made of. */
  readonly pool: object
  readonly table: Table
  readonly retentionMs: number
  /** Whether that of this key is parked, and that is on disk. */
  isParked(key: string): Promise<boolean>
  /** See `JoinedInbox.keep`. */
  keepUnlessHandled(
    failed: FailedDelivery,
    inbox: InboxTables,
  ): Promise<FailureState | 'handled' | 'in_flight'>
}

/**
 * Keeps what was not handled in a table of MySQL 8.0, MariaDB 10.6 or newer, with the bytes as they were sent. With an inbox of the same pool, a failure
 * is removed in the transaction that records its event as handled. It does not forget by itself: see `purge` and `purgeEverySeconds`.
 *
 * @param pool a pool of `mysql2/promise` or of `mariadb`, or a driver for another library: the one of the inbox
 * @throws TypeError when it is something else, or an option is invalid
 * @example
 * ```ts
 * const pool = mysql.createPool(process.env.DATABASE_URL)
 * const inbox = mysqlInbox(pool)
 * const failures = mysqlFailures(pool, { purgeEverySeconds: 3_600 })
 * await failures.migrate() // when you deploy
 * tixWebhooks({ secret, on, inbox, failures, namespace: 'orders' })
 * const [latest] = await failures.list({ state: 'parked' })
 * ```
 */
export function mysqlFailures<Tx>(
  pool: MysqlPool | MysqlDriver<Tx>,
  options: MysqlFailuresOptions = {},
): MysqlFailures {
  return checkedFor(mysqlFailures, () => createFailures(pool, options))
}

/** The failures of a pool as its inbox needs them, also if another copy of the package has made them. */
export function joinableOf(failures: object): JoinableFailures | undefined {
  return joinables().get(failures)
}

const joinables = (): WeakMap<object, JoinableFailures> => sharedMap('mysqlFailures')

function createFailures<Tx>(pool: MysqlPool | MysqlDriver<Tx>, options: MysqlFailuresOptions): MysqlFailures {
  options = checkOptionNames(options, ['table', 'retentionSeconds', 'purgeEverySeconds'])
  const retentionMs = checkFailureRetention(options.retentionSeconds) * 1000
  const driver = driverOf(pool, undefined, 'mysqlFailures')
  const table = failuresTable(databaseOf(pool), options.table ?? TABLE, retentionMs)
  const keep = keeper(driver, table)
  let hasWarned = false
  const purger = createPurger(
    (limit) => retryConflicts(() => asking((ask) => table.purge(ask, limit))),
    options.purgeEverySeconds,
  )

  /** A transaction, with the table found. */
  async function asking<T>(work: (ask: Ask) => Promise<T>, commits = true): Promise<T> {
    try {
      return await driver.transaction(
        async (tx) => {
          const ask: Ask = (sql) => driver.query(tx, sql)
          await table.find(ask)
          return work(ask)
        },
        () => ({ commits }),
      )
    } catch (error) {
      throw table.unavailable(error)
    }
  }

  /** @param statement made once the table is found */
  async function rowsOf(statement: () => string): Promise<readonly Row[]> {
    try {
      return await driver.reading(async (ask) => {
        await table.find(ask)
        return (await ask(statement())).rows
      })
    } catch (error) {
      throw table.unavailable(error)
    }
  }

  /** Keeps a failure of an event that nobody has, and deletes it. */
  async function keepAndDelete(ask: Ask): Promise<FailedDelivery> {
    const failed = { ...NOBODYS, key: `check/${crypto.randomUUID()}` }
    await keepWith(ask, table, failed)
    await ask(locking(table.name, failed.key))
    await ask(deleting(table.name, failed.key))
    return failed
  }

  /** Not an error: the bodies of an app may be smaller. Other servers, which only speak the protocol, have no such variable. */
  async function warnOfLimit(ask: Ask): Promise<void> {
    const [row] = await ask('SELECT @@max_allowed_packet').then(
      ({ rows }) => rows,
      () => [],
    )
    if (hasWarned || !(Number(row?.[0]) < LARGEST)) return
    hasWarned = true
    console.warn(
      `tix-webhooks: max_allowed_packet of this server is too small for failures with bodies of 1 MiB, the default of maxBodyBytes, so that these are not kept: set it to at least ${LARGEST}, or a smaller maxBodyBytes.`,
    )
  }

  /** The statements of all methods, of which nothing is kept. */
  async function check(): Promise<void> {
    const key = await asking(async (ask) => {
      await warnOfLimit(ask)
      await table.check(ask)
      return (await keepAndDelete(ask)).key
    }, false)
    // Found by an index, so that it takes no time.
    const filter = { eventId: key }
    for (const statement of [
      getting(table.name, key),
      listing(table.name, 'newest', { filter }, 1),
      grouping(table.name, filter, 1),
      counting(table.name, filter),
    ]) {
      await rowsOf(() => statement)
    }
  }

  /** Returns once a failure that was read is on disk: a commit that has written is so only after all before it. */
  async function flushed(): Promise<void> {
    try {
      await retryConflicts(() => asking(keepAndDelete))
    } catch (error) {
      if (!isForbidden(error) && !isWrongServer(error)) throw error
    }
  }

  async function get(key: string): Promise<Failure | undefined> {
    const [row] = await rowsOf(() => getting(table.name, key))
    const failure = row && readFailure(row)
    if (failure?.state === 'parked') await flushed()
    return failure
  }

  async function kept(failed: FailedDelivery, inbox?: InboxTables) {
    checkKey(failed.key)
    purger.start()
    try {
      return await keep(failed, inbox)
    } catch (error) {
      throw table.unavailable(error)
    }
  }

  const failures: MysqlFailures = {
    retentionSeconds: retentionMs / 1000,
    keep: (failed) => kept(failed) as Promise<FailureState>,
    async get(key) {
      checkKey(key)
      return get(key)
    },
    async delete(key) {
      checkKey(key)
      return asking(async (ask) => {
        // Not by the count of the deleted, which not every library passes on.
        const { rows } = await ask(locking(table.name, key))
        if (rows.length > 0) await ask(deleting(table.name, key))
        return rows.length > 0
      })
    },
    async list(query): Promise<readonly Failure[]> {
      const { order, limit, ...wanted } = checkFailureQuery(query)
      return (await rowsOf(() => listing(table.name, order, wanted, limit))).map(readFailure)
    },
    async groups({ limit, ...filter } = {}): Promise<readonly FailureGroup[]> {
      const most = checkFailureLimit(limit)
      const checked = checkFailureFilter(filter)
      const rows = await rowsOf(() => grouping(table.name, checked, most))
      return rows.map(([values]) => groupIn(valuesIn(values), asItIs))
    },
    async count(filter) {
      const checked = checkFailureFilter(filter)
      const [row] = await rowsOf(() => counting(table.name, checked))
      if (row === undefined) throw unexpectedRows()
      return Number(row[0])
    },
    check,
    purge: purger.purge,
    async migrate() {
      await table.migrate(driver)
      // The user of a migration may not have the rights of the app's.
      await check().catch((error) => {
        if (!isForbidden(error)) throw error
      })
    },
    ddl: table.ddl,
  }
  const isKeptParked = async (key: string): Promise<boolean> => (await get(key))?.state === 'parked'
  joinables().set(failures, { pool, table, retentionMs, isParked: isKeptParked, keepUnlessHandled: kept })
  return failures
}

function readFailure([values, body]: Row): Failure {
  return failureIn(valuesIn(values), bytesIn(body), asItIs)
}

/** The values that a statement has put into one text. */
function valuesIn(given: unknown): (string | null)[] {
  if (typeof given !== 'string') throw unexpectedRows()
  return given.split(',').map((hex) => (hex === '-' ? null : UTF8.decode(bytesIn(`x${hex}`))))
}

const UTF8 = new TextDecoder()
const asItIs = (text: string): string => text

const TABLE = 'tix_webhooks_failures'

/** The bytes of a statement that keeps the largest body by default, which is in hexadecimal digits, with room for the rest: 2.25 MiB. */
const LARGEST = 2_359_296

const NOBODYS = {
  namespace: 'check',
  kind: 'check',
  rawBody: new Uint8Array(1),
  signedAt: new Date(0),
  secretIndex: 0,
  failedAt: new Date(0),
  code: 'check',
  message: 'check',
  group: 'check',
  isReplay: false,
} satisfies Omit<FailedDelivery, 'key'>

function failuresTable(database: Database, given: string, retentionMs: number): Table {
  return tableOf({
    database,
    given,
    columns: COLUMNS,
    indexes: INDEXES,
    expired: pastFailures(retentionMs),
    migrate: 'failures.migrate()',
  })
}

/** The SQL that creates the table, by its default name. */
export function failuresDdl(): string {
  return failuresTable(databaseOf({}), TABLE, 0).ddl
}
