import type { FailedDelivery, Failure, FailureGroup, FailureState, KeptFailures } from '../../../src/index.js'
import {
  type CheckedFilter,
  checkedFor,
  checkFailureFilter,
  checkFailureLimit,
  checkFailureQuery,
  checkFailureRetention,
  checkKey,
  checkOptionNames,
  type Position,
  STATEMENT_MS,
  sharedMap,
} from '../../../src/internal.js'
import { failureIn, groupIn } from '../../sql/kept-rows.js'
import { bytesIn } from '../../sql/kept-text.js'
import { createPurger } from '../../sql/purge.js'
import { keyOfCheck, requireRow, tryOut } from '../check.js'
import { driverOf, queryOf } from '../drivers/choose.js'
import { type PostgresDriver, unchecked } from '../drivers/driver.js'
import type { PgPool } from '../drivers/pg.js'
import type { PostgresJs } from '../drivers/postgres-js.js'
import { isTwoMethodDriver } from '../drivers/user-driver.js'
import { type Table, tableOf } from '../table.js'
import { type Ask, locationIn, locationOf } from '../table-location.js'
import { keeper, onlyBoolean } from './keep.js'
import { isoOf, parametersOf } from './rows.js'
import {
  COLUMNS,
  counting,
  deleting,
  getting,
  grouping,
  INDEXES,
  keeping,
  listing,
  purging,
  type Wanted,
} from './statements.js'
import { ASCII_TEXTS, asciiJson, jsonIn, type Texts, UTF8_TEXTS } from './texts.js'

export interface PostgresFailuresOptions {
  /** Its table: a name, or a schema and a name. Default `tix_webhooks_failures`, in the schema in which the first statement finds it. */
  table?: string | undefined
  /** How long a failure is kept after its last attempt, in seconds. Default 2,592,000 (30 days); at least 262,800 (73 h). */
  retentionSeconds?: number | undefined
  /** Purges in the background, every so many seconds, from the first failure on. Default: only when you call `purge`. */
  purgeEverySeconds?: number | undefined
}

/** The failures in a table of Postgres. */
export interface PostgresFailures extends KeptFailures {
  /**
   * Resolves if a failure could be kept, read and removed: it does so, and rolls that back.
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
  /** See `JoinedInbox.keep`. */
  keepUnlessHandled(failed: FailedDelivery, inbox: Table): Promise<FailureState | 'handled' | 'in_flight'>
}

/**
 * Keeps what was not handled in a table of Postgres 12 or newer, with the bytes as they were sent. With an inbox of the same pool, a failure
 * is removed in the transaction that records its event as handled. It does not forget by itself: see `purge` and `purgeEverySeconds`.
 *
 * @param pool a `Pool` of pg, the `sql` of postgres.js, or a driver for another library: the one of the inbox
 * @throws TypeError when it is something else, or an option is invalid
 * @example
 * ```ts
 * const pool = new Pool({ connectionString: process.env.DATABASE_URL })
 * const inbox = postgresInbox(pool)
 * const failures = postgresFailures(pool, { purgeEverySeconds: 3_600 })
 * await failures.migrate() // when you deploy
 * tixWebhooks({ secret, on, inbox, failures, namespace: 'orders' })
 * const [latest] = await failures.list({ state: 'parked' })
 * ```
 */
export function postgresFailures<Tx>(
  pool: PgPool | PostgresJs | PostgresDriver<Tx>,
  options: PostgresFailuresOptions = {},
): PostgresFailures {
  return checkedFor(postgresFailures, () => createFailures(pool, options))
}

/** The failures of a pool as its inbox needs them, also if another copy of the package has made them. */
export function joinableOf(failures: object): JoinableFailures | undefined {
  return joinables().get(failures)
}

const joinables = (): WeakMap<object, JoinableFailures> => sharedMap('postgresFailures')

const readFailure = (values: readonly unknown[], body: unknown, texts: Texts): Failure =>
  failureIn(values, bytesIn(body), texts.read)

const IS_UTF8 = "SELECT current_setting('server_encoding') = 'UTF8' AS utf"

function createFailures<Tx>(
  pool: PgPool | PostgresJs | PostgresDriver<Tx>,
  options: PostgresFailuresOptions,
): PostgresFailures {
  options = checkOptionNames(options, ['table', 'retentionSeconds', 'purgeEverySeconds'])
  const retentionMs = checkFailureRetention(options.retentionSeconds) * 1000
  const driver = driverOf(pool, undefined, 'postgresFailures')
  const table = tableOf({
    location: locationIn(pool, options.table ?? TABLE),
    columns: COLUMNS,
    indexes: INDEXES,
    migrate: 'failures.migrate()',
  })
  const unavailable = (error: unknown): never => {
    throw table.unavailable(error)
  }
  const purger = createPurger(deleteExpired, options.purgeEverySeconds)
  // A driver has transactions alone.
  const query = isTwoMethodDriver(pool) ? undefined : queryOf(pool as PgPool | PostgresJs)
  const ask: Ask | undefined = query && (async (...statement) => (await query(...statement)).rows)
  const keep = keeper(driver, table, find, ask)
  let texts: Texts | undefined

  /** To be called before each statement that uses the table. */
  async function find(ask: Ask): Promise<Texts> {
    await table.find(ask)
    texts ??= onlyBoolean(await ask(IS_UTF8, [])) ? UTF8_TEXTS : ASCII_TEXTS
    return texts
  }

  /** A transaction, with the table found. */
  async function asking<T>(
    work: (ask: Ask, texts: Texts) => Promise<T>,
    { isLimited = true } = {},
  ): Promise<T> {
    const transaction = driver.transaction(async (tx) => {
      const ask: Ask = (sql, parameters) =>
        driver.query(tx, sql, parameters, isLimited ? STATEMENT_MS : undefined)
      return work(ask, await find(ask))
    }, unchecked)
    return transaction.catch(unavailable)
  }

  /** The values of each row, of which the first is JSON. */
  async function reading<T>(
    read: (values: readonly unknown[], body: unknown, texts: Texts) => T,
    statement: (wanted: Wanted) => string,
    parameters: { readonly filter: CheckedFilter; readonly before?: Position; readonly after?: Position },
    limit?: number,
  ): Promise<T[]> {
    const { filter, before, after } = parameters
    return asking(async (ask, texts) => {
      const values: Record<string, string> = {}
      for (const [name, value] of Object.entries(filter)) values[name] = texts.write(value)
      for (const [name, position] of Object.entries({ before, after })) {
        if (position === undefined) continue
        values[`${name}At`] = isoOf(position.atMs)
        values[`${name}Key`] = position.key
      }
      const wanted = {
        filter: Object.keys(filter),
        before: before !== undefined,
        after: after !== undefined,
      }
      const rows = await ask(statement(wanted), [asciiJson(values), ...(limit === undefined ? [] : [limit])])
      return rows.map((row) => {
        const [details, body] = Object.values(row)
        return read(jsonIn(details), body, texts)
      })
    })
  }

  async function kept(failed: FailedDelivery, inbox?: Table) {
    checkKey(failed.key)
    purger.start()
    return keep(failed, inbox).catch(unavailable)
  }

  async function deleteExpired(limit: number): Promise<number> {
    // The user decides how many one deletes.
    const purged = await asking((ask) => ask(purging(table.name), [retentionMs, limit]), { isLimited: false })
    return purged.length
  }

  const failures: PostgresFailures = {
    retentionSeconds: retentionMs / 1000,
    keep: (failed) => kept(failed) as Promise<FailureState>,
    async get(key) {
      checkKey(key)
      return asking(async (ask, texts) => {
        const [row] = await ask(getting(table.name), [key])
        if (row === undefined) return undefined
        const [details, body] = Object.values(row)
        return failureIn(jsonIn(details), bytesIn(body), texts.read)
      })
    },
    async delete(key) {
      checkKey(key)
      return asking(async (ask) => (await ask(deleting(table.name), [key])).length > 0)
    },
    async list(query): Promise<readonly Failure[]> {
      const { order, limit, ...wanted } = checkFailureQuery(query)
      return reading(readFailure, (given) => listing(table.name, order, given), wanted, limit)
    },
    async groups({ limit, ...filter } = {}): Promise<readonly FailureGroup[]> {
      const most = checkFailureLimit(limit)
      const wanted = { filter: checkFailureFilter(filter) }
      return reading(
        (values, _, texts) => groupIn(values, texts.read),
        (given) => grouping(table.name, given),
        wanted,
        most,
      )
    },
    async count(filter) {
      const wanted = { filter: checkFailureFilter(filter) }
      const [count] = await reading(
        ([count]) => Number(count),
        (given) => counting(table.name, given),
        wanted,
      )
      return count as number
    },
    check: () =>
      tryOut(driver, async (ask) => {
        const texts = await find(ask)
        const failed = failureOfCheck()
        // The second one changes the row of the first. The transaction of a handler removes it.
        for (const statement of [keeping, keeping, getting, deleting]) {
          const rows = await ask(
            statement(table.name),
            statement === keeping ? parametersOf(failed, texts) : [failed.key],
          )
          requireRow(rows.length === 1, table.name)
        }
      }).catch(unavailable),
    purge: purger.purge,
    migrate: () => table.migrate(driver),
    ddl: table.ddl,
  }
  joinables().set(failures, { pool, table, retentionMs, keepUnlessHandled: kept })
  return failures
}

function failureOfCheck(): FailedDelivery {
  const [key, at] = [keyOfCheck(), new Date(0)]
  const text = { namespace: '', kind: '', code: '', message: '', group: '' }
  return {
    key,
    ...text,
    signedAt: at,
    failedAt: at,
    secretIndex: 0,
    isReplay: false,
    rawBody: new Uint8Array(1),
  }
}

const TABLE = 'tix_webhooks_failures'

/** The SQL that creates the table, by its default name. */
export const failuresDdl: string = tableOf({
  location: locationOf(TABLE),
  columns: COLUMNS,
  indexes: INDEXES,
  migrate: '',
}).ddl
