import { isWebhookError } from '../../src/index.js'
import { describeType, monotonicMs } from '../../src/internal.js'
import { checkColumns, FIND_COLUMNS, type FoundColumn, type TableDdl } from '../sql/sqlite-dialect/ddl.js'
import type { Rows } from '../sql/sqlite-dialect/table.js'
import { unavailable } from './advice.js'
import {
  busyTimeoutOf,
  configureOnce,
  isBusy,
  isClosed,
  keepDurable,
  type SqliteDatabase,
  type SqliteStatement,
  versionOf,
  withoutWaiting,
} from './database.js'

/** A table of ours in a database of the user's. */
export interface SqliteTable {
  readonly ddl: string
  all(sql: string, parameters: Readonly<Record<string, unknown>>): Rows
  exec(sql: string): void
  /** Calls `work` in a transaction, which is rolled back if it throws. Its error is thrown as it is. */
  transaction<T>(work: () => T): T
  migrate(): void
  /**
   * Throws the error that a delivery would meet: it calls `write` in a transaction. It does not wait for another process that writes, which would
   * block the event loop.
   */
  check(write: () => void): void
  exists(): boolean
}

/** @throws TypeError when it is no database */
export function checkDatabase(db: SqliteDatabase): void {
  if (typeof db?.prepare === 'function' && typeof db.exec === 'function') return
  throw new TypeError(
    `db must be an open database of better-sqlite3, libsql or node:sqlite, not ${describeType(db)} without their prepare and exec.`,
  )
}

/** @param migrate the user's call that creates it */
export function sqliteTable(db: SqliteDatabase, ddl: TableDdl, migrate: string): SqliteTable {
  const { name, plainName, createTable, createIndexes } = ddl
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

  const self: SqliteTable = {
    ddl: [createTable, ...createIndexes].join(''),
    exec,
    all: (sql, parameters) => withAdvice(() => statement(sql).all(parameters as never)),
    transaction(work) {
      withAdvice(() => keepDurable(db))
      exec('BEGIN IMMEDIATE')
      try {
        const result = work()
        exec('COMMIT')
        busy = undefined
        return result
      } catch (error) {
        rollBack()
        throw error
      }
    },
    migrate() {
      exec(createTable)
      checkFound()
      for (const createIndex of createIndexes) exec(createIndex)
    },
    check(write) {
      try {
        withAdvice(() =>
          withoutWaiting(db, () => {
            checkFound()
            self.transaction(write)
          }),
        )
      } catch (error) {
        if (!isBusy((error as Error).cause) || isHeldUp()) throw error
      }
    },
    exists: () => columnsFound().length > 0,
  }

  function columnsFound(): readonly FoundColumn[] {
    return withAdvice(() => statement(FIND_COLUMNS).all(plainName as never)) as FoundColumn[]
  }

  function checkFound(): void {
    checkColumns(columnsFound(), ddl)
  }

  return self
}
