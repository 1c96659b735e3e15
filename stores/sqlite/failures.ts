import type { FailedDelivery, Failure, FailureGroup, FailureState, KeptFailures } from '../../src/index.js'
import {
  checkedClock,
  checkedFor,
  checkFailureFilter,
  checkFailureLimit,
  checkFailureQuery,
  checkFailureRetention,
  checkKey,
  checkOptionNames,
  sharedMap,
  storableText,
} from '../../src/internal.js'
import { createPurger } from '../sql/purge.js'
import { notWritten } from './advice.js'
import type { SqliteDatabase } from './database.js'
import { FAILURE_COLUMNS, FAILURE_INDEXES, failureStatements, type Question } from './failure-statements.js'
import { sharedCommits } from './shared-commits.js'
import { type Parameters, type Row, sqliteTable } from './table.js'

export interface SqliteFailuresOptions {
  /** The name of its table. Default `tix_webhooks_failures`. */
  table?: string | undefined
  /** How long a failure is kept after its last attempt, in seconds. Default 2,592,000 (30 days); at least 262,800 (73 h). */
  retentionSeconds?: number | undefined
  /** Purges in the background, every so many seconds, from the first failure on. Default: only when you call `purge`. */
  purgeEverySeconds?: number | undefined
  /** Milliseconds since the epoch, for the retention. Default `Date.now`: a wall clock, because the failures must survive a restart. */
  now?: (() => number) | undefined
}

/** Failures in a table. */
export interface SqliteFailures extends KeptFailures {
  /**
   * Resolves if the database is open, can be written, and has the table; it changes nothing.
   *
   * @throws StoreError otherwise, with advice
   */
  check(): Promise<void>
  /** Creates the table if it is missing. For the start of your app; several processes may run it at once. */
  migrate(): Promise<void>
  /** The SQL that `migrate` runs, for tools of your own. */
  readonly ddl: string
}

/**
 * Keeps what was not handled in a file, with its bytes, until it is. With `sqliteInbox` on the same `db`, a failure is removed in the
 * transaction that records its event as handled. It does not forget by itself: see `purge` and `purgeEverySeconds`.
 *
 * @param db an open database of better-sqlite3, libsql or `node:sqlite`; a file is kept in WAL and at least at `synchronous = FULL`
 * @throws TypeError when it is something else, or an option is invalid
 * @example
 * ```ts
 * const db = new Database('app.db')
 * const [inbox, failures] = [sqliteInbox(db), sqliteFailures(db, { purgeEverySeconds: 3600 })]
 * await inbox.migrate() // when your app starts
 * await failures.migrate()
 * tixWebhooks({ secret, on, inbox, failures, namespace: 'orders' })
 * ```
 */
export function sqliteFailures(db: SqliteDatabase, options: SqliteFailuresOptions = {}): SqliteFailures {
  return checkedFor(sqliteFailures, () => createFailures(db, options))
}

/** Failures as the inbox of their database needs them: `stateOf` and `delete` open no transaction of their own. */
export interface SqliteFailuresInside {
  readonly db: SqliteDatabase
  readonly retentionMs: number
  stateOf(key: string): FailureState | undefined
  delete(key: string): boolean
  /** Keeps it unless `isHandled` returns true in the same transaction. */
  keepUnless(isHandled: () => boolean, failed: FailedDelivery): Promise<FailureState | 'handled'>
}

/** The inside of each of our failures. */
export const sqliteFailuresInside: WeakMap<object, SqliteFailuresInside> = sharedMap('sqlite-failures')

function createFailures(db: SqliteDatabase, options: SqliteFailuresOptions): SqliteFailures {
  const given = checkOptionNames(options, ['table', 'retentionSeconds', 'purgeEverySeconds', 'now'])
  const table = sqliteTable(db, {
    table: given.table ?? 'tix_webhooks_failures',
    columns: FAILURE_COLUMNS,
    indexes: FAILURE_INDEXES,
    hasRowid: true,
    purgedBy: 'last_at',
    migrate: 'failures.migrate()',
  })
  const sql = failureStatements(table.name)
  const now = checkedClock(given.now)
  const retentionMs = checkFailureRetention(given.retentionSeconds) * 1000
  const { start, purge } = createPurger(
    async (limit) => table.purge({ now: now() - retentionMs, limit }),
    given.purgeEverySeconds,
  )
  const inTransaction = sharedCommits(table)
  const all = ({ sql, parameters }: Question): readonly Row[] => table.all(sql, parameters)

  function keep(parameters: Parameters): FailureState {
    const kept = table.get(sql.keep, parameters)
    if (kept === undefined) throw notWritten(table.name)
    return kept.state as FailureState
  }

  const inside: SqliteFailuresInside = {
    db,
    retentionMs,
    stateOf: (key) => table.get(sql.stateOf, { key })?.state as FailureState | undefined,
    delete: (key) => table.run(sql.delete, { key }) === 1,
    async keepUnless(isHandled, failed) {
      checkKey(failed.key)
      start()
      const parameters = parametersOf(failed)
      return inTransaction(() => (isHandled() ? 'handled' : keep(parameters)))
    },
  }

  const failures: SqliteFailures = {
    retentionSeconds: retentionMs / 1000,
    keep: (failed) => inside.keepUnless(() => false, failed) as Promise<FailureState>,
    async get(key) {
      checkKey(key)
      const row = table.get(sql.find, { key })
      return row === undefined ? undefined : failureOf(row)
    },
    async delete(key) {
      checkKey(key)
      return inTransaction(() => inside.delete(key))
    },
    list: async (query) => all(sql.list(checkFailureQuery(query))).map(failureOf),
    async groups({ limit, ...filter } = {}) {
      const most = checkFailureLimit(limit)
      return all(sql.groups(checkFailureFilter(filter), most)).map(groupOf)
    },
    count: async (filter) => Number(all(sql.count(checkFailureFilter(filter)))[0]?.count),
    purge,
    check: async () => table.check((key) => keep(parametersOf({ ...NO_FAILURE, key }))),
    migrate: async () => table.migrate(),
    ddl: table.ddl,
  }
  sqliteFailuresInside.set(failures, inside)
  return failures
}

/** What a check writes, and removes again. */
const NO_FAILURE: Omit<FailedDelivery, 'key'> = {
  namespace: '',
  kind: '',
  group: '',
  code: '',
  message: '',
  secretIndex: 0,
  signedAt: new Date(0),
  failedAt: new Date(0),
  isReplay: false,
  rawBody: new Uint8Array(),
}

function parametersOf(failed: FailedDelivery): Parameters {
  const { parkAfter = {}, rawBody } = failed
  const optional = (text: string | undefined): string | null =>
    text === undefined ? null : storableText(text)
  return {
    key: failed.key,
    namespace: storableText(failed.namespace),
    account: optional(failed.account),
    kind: storableText(failed.kind),
    eventId: optional(failed.eventId),
    orderId: optional(failed.orderId),
    group: storableText(failed.group),
    code: storableText(failed.code),
    message: storableText(failed.message),
    secretIndex: failed.secretIndex,
    signedAt: failed.signedAt.getTime(),
    failedAt: failed.failedAt.getTime(),
    isReplay: Number(failed.isReplay),
    parkAttempts: parkAfter.attempts ?? null,
    parkMs: parkAfter.ms ?? null,
    rawBody,
  }
}

function failureOf(row: Row): Failure {
  return {
    key: row.key as string,
    namespace: row.namespace as string,
    ...(row.account === null ? {} : { account: row.account as string }),
    kind: row.kind as string,
    ...(row.event_id === null ? {} : { eventId: row.event_id as string }),
    ...(row.order_id === null ? {} : { orderId: row.order_id as string }),
    state: row.state as FailureState,
    group: row.cause as string,
    code: row.code as string,
    message: row.message as string,
    secretIndex: Number(row.secret_index),
    signedAt: dateOf(row.signed_at),
    firstAt: dateOf(row.first_at),
    lastAt: dateOf(row.last_at),
    ...(row.last_replayed_at === null ? {} : { lastReplayedAt: dateOf(row.last_replayed_at) }),
    attempts: Number(row.attempts),
    replays: Number(row.replays),
    // A plain Uint8Array: some drivers return a Buffer, or null for no bytes.
    rawBody: new Uint8Array((row.raw_body as Uint8Array | null) ?? []),
  }
}

function groupOf(row: Row): FailureGroup {
  return {
    group: row.cause as string,
    count: Number(row.count),
    firstAt: dateOf(row.first_at),
    lastAt: dateOf(row.last_at),
    kind: row.kind as string,
    code: row.code as string,
    message: row.message as string,
  }
}

function dateOf(ms: unknown): Date {
  return new Date(Number(ms))
}
