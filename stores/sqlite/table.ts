import { isWebhookError } from '../../src/index.js'
import { describeType, monotonicMs } from '../../src/internal.js'
import {
  type FoundColumn,
  missingFrom,
  ofAnotherVersion,
  purgeStatement,
  type TableLayout,
  tableDdl,
} from '../sql/sqlite-dialect/ddl.js'
import { unavailable } from './advice.js'
import {
  busyTimeoutOf,
  configureOnce,
  isBusy,
  isClosed,
  keepDurable,
  readCommitted,
  type SqliteDatabase,
  type SqliteStatement,
  versionOf,
  withoutWaiting,
} from './database.js'

export type Parameters = Readonly<Record<string, string | number | Uint8Array | null>>

export type Row = Readonly<Record<string, unknown>>

/** A table of ours in a database of the user's. */
export interface SqliteTable {
  /** The quoted name, as SQL has it. */
  readonly name: string
  readonly ddl: string
  /** The first row. */
  get(sql: string, parameters: Parameters): Row | undefined
  all(sql: string, parameters: Parameters): Row[]
  /** How many rows it changed. */
  run(sql: string, parameters: Parameters): number
  exec(sql: string): void
  /** Calls `work` in a transaction, which is rolled back if it throws. Its error is thrown as it is. */
  transaction<T>(work: () => T): T
  migrate(): void
  /**
   * Throws the error that a delivery would meet: it calls `write` with a key that no event has, and commits without that record, because
   * nothing less finds a full disk. It does not wait for another process that writes, which would block the event loop.
   */
  check(write: (key: string) => unknown): void
  exists(): boolean
  purge(parameters: { now: number; limit: number }): number
}

export interface SqliteTableDefinition extends TableLayout {
  readonly table: string
  /** The columns with their types; the first one is the key. */
  readonly columns: Readonly<Record<string, string>>
  /** The user's call that creates it. */
  readonly migrate: string
  /** The column by which it is purged. Default `expires_at`. */
  readonly purgedBy?: string
}

/** @throws TypeError when it is not a database, or the name is invalid */
export function sqliteTable(
  db: SqliteDatabase,
  { table, columns, migrate, purgedBy, ...layout }: SqliteTableDefinition,
): SqliteTable {
  if (typeof db?.prepare !== 'function' || typeof db.exec !== 'function') {
    throw new TypeError(
      `db must be an open database of better-sqlite3, libsql or node:sqlite, not ${describeType(db)} without their prepare and exec.`,
    )
  }
  const created = tableDdl(table, columns, layout)
  const { name, plainName, key, createTable, createIndex } = created
  const ddl = `${createTable}\n${createIndex}`

  const prepared = new Map<string, SqliteStatement>()

  function statement(sql: string): SqliteStatement {
    const known = prepared.get(sql) ?? db.prepare(sql)
    prepared.set(sql, known)
    return known
  }

  function withAdvice<T>(work: () => T): T {
    try {
      if (isClosed(db)) throw new Error('The database is not open.')
      configureOnce(db)
      return work()
    } catch (cause) {
      throw isWebhookError(cause) ? cause : unavailable(cause, { name, migrate })
    }
  }

  function exec(sql: string): void {
    withAdvice(() => void db.exec(sql))
  }

  function rollBack(): void {
    try {
      db.exec('ROLLBACK')
    } catch {
      // SQLite has rolled back by itself, as it does when the disk is full.
    }
  }

  /** What a check met another process at, since the last commit of ours. */
  let busy: { readonly sinceMs: number; readonly version: unknown } | undefined

  /** Whether that process has kept everybody from a commit for so long that a delivery would have failed meanwhile. */
  function isHeldUp(): boolean {
    const version = versionOf(db)
    if (busy === undefined || busy.version !== version) busy = { sinceMs: monotonicMs(), version }
    return monotonicMs() - busy.sinceMs > busyTimeoutOf(db)
  }

  let isInTransaction = false

  const self: SqliteTable = {
    name,
    ddl,
    exec,
    get: (sql, parameters) => self.all(sql, parameters)[0],
    all: (sql, parameters) =>
      withAdvice(() => {
        // In a transaction of ours nobody else is writing.
        if (!isInTransaction) readCommitted(db)
        return statement(sql).all(parameters as never)
      }) as Row[],
    run: (sql, parameters) => withAdvice(() => Number(statement(sql).run(parameters as never).changes)),
    transaction(work) {
      withAdvice(() => keepDurable(db))
      exec('BEGIN IMMEDIATE')
      isInTransaction = true
      try {
        const result = work()
        exec('COMMIT')
        busy = undefined
        return result
      } catch (error) {
        rollBack()
        throw error
      } finally {
        isInTransaction = false
      }
    },
    migrate() {
      exec(createTable)
      const found = withAdvice(() =>
        statement('SELECT name, pk FROM pragma_table_info(@table)').all({ table: plainName } as never),
      )
      const missing = missingFrom(found as FoundColumn[], Object.keys(columns), key)
      if (missing.length > 0) throw ofAnotherVersion(name, missing)
      exec(createIndex)
    },
    check(write) {
      try {
        withAdvice(() =>
          withoutWaiting(db, () =>
            self.transaction(() => {
              write('')
              self.run(`DELETE FROM ${name} WHERE ${key} = @key`, { key: '' })
            }),
          ),
        )
      } catch (error) {
        if (!isBusy((error as Error).cause) || isHeldUp()) throw error
      }
    },
    exists: () =>
      self.get("SELECT 1 AS found FROM sqlite_master WHERE type = 'table' AND name = @table", {
        table: plainName,
      }) !== undefined,
    // SQLite has one writer at a time, so nothing can be claimed between the two.
    purge: (parameters) => self.transaction(() => self.run(purgeStatement(created, purgedBy), parameters)),
  }
  return self
}
