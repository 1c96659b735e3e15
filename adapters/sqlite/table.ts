import { isWebhookError } from '../../src/index.js'
import { describeType } from '../../src/internal.js'
import {
  checkStatement,
  type FoundColumn,
  missingFrom,
  ofAnotherVersion,
  purgeStatement,
  type TableLayout,
  tableDdl,
} from '../sqlite-dialect/ddl.js'
import { unavailable } from './advice.js'
import {
  configureOnce,
  isBusy,
  isClosed,
  keepDurable,
  type SqliteDatabase,
  type SqliteStatement,
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
  /** Throws the error that a delivery would meet, but does not wait for another process that writes: waiting blocks the event loop. */
  check(): void
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

  const self: SqliteTable = {
    name,
    ddl,
    exec,
    get: (sql, parameters) => self.all(sql, parameters)[0],
    all: (sql, parameters) => withAdvice(() => statement(sql).all(parameters as never)) as Row[],
    run: (sql, parameters) => withAdvice(() => Number(statement(sql).run(parameters as never).changes)),
    transaction(work) {
      withAdvice(() => keepDurable(db))
      exec('BEGIN IMMEDIATE')
      try {
        const result = work()
        exec('COMMIT')
        return result
      } catch (error) {
        rollBack()
        throw error
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
    check() {
      const sql = checkStatement(created, Object.keys(columns))
      try {
        withAdvice(() =>
          withoutWaiting(db, () => {
            // A statement that was prepared before knows the table of that time.
            db.prepare(sql)
            self.transaction(() => void self.run(sql, {}))
          }),
        )
      } catch (error) {
        // Another process is writing, as it may.
        if (!isBusy(error)) throw error
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
