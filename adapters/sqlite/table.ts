import { isWebhookError, StoreError } from '../../src/index.js'
import { describeType, messageOf } from '../../src/store-kit.js'

/** What is used of a database of better-sqlite3, libsql or `node:sqlite`. */
export interface SqliteDatabase {
  prepare(sql: string): SqliteStatement
  exec(sql: string): unknown
}

interface SqliteStatement {
  all(...parameters: never[]): unknown[]
  run(...parameters: never[]): { changes: number | bigint }
}

type Parameters = Readonly<Record<string, string | number>>

/** A table of ours in a database of the user's. */
export interface SqliteTable {
  /** As it is written in SQL. */
  readonly name: string
  readonly schema: string
  /** The first row. */
  get(sql: string, parameters: Parameters): Record<string, unknown> | undefined
  /** How many rows it changed. */
  run(sql: string, parameters: Parameters): number
  exec(sql: string): void
  /** Does what `work` does in a transaction, or nothing of it. What `work` throws is passed on as it is. */
  transaction<T>(work: () => T): T
  migrate(): void
  purge(parameters: { now: number; limit: number }): number
}

export interface SqliteTableTerms {
  readonly table: string
  /** The columns with their types. */
  readonly columns: Readonly<Record<string, string>>
  /** What the user calls to create it. */
  readonly migrate: string
}

/** How long a statement waits while another process writes, where the connection says nothing. It blocks the event loop. */
const BUSY_TIMEOUT_MS = 2_000
const CLOSED = /not open|closed|finalized/

/** @throws TypeError when it is not a database, or the name is none */
export function sqliteTable(db: SqliteDatabase, { table, columns, migrate }: SqliteTableTerms): SqliteTable {
  if (typeof db?.prepare !== 'function' || typeof db.exec !== 'function') {
    throw new TypeError(
      `db must be an open database of better-sqlite3, libsql or node:sqlite, not ${describeType(db)} without their prepare and exec.`,
    )
  }
  if (typeof table !== 'string' || !/^(?!sqlite_)[a-z_]\w{0,47}$/i.test(table)) {
    throw new TypeError(
      "table must be a name of 1 to 48 letters, digits and _, such as 'webhooks'; those that begin with sqlite_ are SQLite's own.",
    )
  }
  const name = `"${table}"`
  const definitions = Object.entries(columns).map(([column, type]) => `  ${column} ${type}`)
  const createTable = `CREATE TABLE IF NOT EXISTS ${name} (\n${definitions.join(',\n')}\n) WITHOUT ROWID;\n`
  const createIndex = `CREATE INDEX IF NOT EXISTS "${table}_expires_at" ON ${name} (expires_at);\n`
  const schema = `${createTable}\n${createIndex}`

  const prepared = new Map<string, SqliteStatement>()
  let isConfigured = false

  function statement(sql: string): SqliteStatement {
    const known = prepared.get(sql) ?? db.prepare(sql)
    prepared.set(sql, known)
    return known
  }

  function attempt<T>(work: () => T): T {
    try {
      if (isClosed(db)) throw new Error('The database is not open.')
      if (!isConfigured) configure(db)
      isConfigured = true
      return work()
    } catch (cause) {
      throw isWebhookError(cause) ? cause : unavailable(cause)
    }
  }

  function exec(sql: string): void {
    attempt(() => void db.exec(sql))
  }

  function rollBack(): void {
    try {
      db.exec('ROLLBACK')
    } catch {
      // SQLite has rolled back by itself, as it does when the disk is full.
    }
  }

  function unavailable(cause: unknown): StoreError {
    const text = messageOf(cause)
    return new StoreError('store_unavailable', adviceFor(text), { cause, answered: !CLOSED.test(text) })
  }

  function adviceFor(text: string): string {
    if (/no such table/.test(text)) {
      return `The table ${name} is missing: run ${migrate} when your app starts, or apply its schema.`
    }
    if (/no such column|has no column|ON CONFLICT clause does not match/.test(text)) {
      return `The table ${name} is of another version, or not ours: ${migrate} names what is missing.`
    }
    if (/readonly|read-only/.test(text)) {
      return 'This SQLite database is read-only: open it for writing, in a folder that the process may write to.'
    }
    if (CLOSED.test(text)) return 'The database is closed: drain the receiver before you close it.'
    if (/locked|busy/i.test(text)) {
      return 'Another process held the database for longer than busy_timeout: is one of them in a long transaction?'
    }
    if (/no such savepoint|no transaction is active/.test(text)) {
      return 'The effects ended the transaction of the inbox (COMMIT, ROLLBACK, OR ROLLBACK, or a full disk whose error they caught): what they wrote after that is kept without the record.'
    }
    if (/(within|inside) a transaction/.test(text)) {
      return 'This connection is in a transaction that other code began: give tix-webhooks a connection of its own, or keep transactions synchronous.'
    }
    return 'SQLite could not run the statement: is the disk full, or the file damaged?'
  }

  const self: SqliteTable = {
    name,
    schema,
    exec,
    get: (sql, parameters) =>
      attempt(() => statement(sql).all(parameters as never)[0]) as Record<string, unknown> | undefined,
    run: (sql, parameters) => attempt(() => Number(statement(sql).run(parameters as never).changes)),
    transaction(work) {
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
      const missing = Object.keys(columns).filter(
        (column) =>
          self.get(
            "SELECT 1 AS found FROM pragma_table_info(@table) WHERE name = @column AND (pk = 1 OR @column <> 'key')",
            {
              table,
              column,
            },
          ) === undefined,
      )
      if (missing.length > 0) {
        throw new StoreError(
          'store_unavailable',
          `There is a table ${name} without ${missing.join(', ')}, so it was created by another version or another program. Rename it, or choose another name with the table option; its records are not carried over.`,
        )
      }
      exec(createIndex)
    },
    // One writer at a time, so nobody can claim between the two.
    purge: (parameters) =>
      self.transaction(() =>
        self.run(
          `DELETE FROM ${name} WHERE key IN (SELECT key FROM ${name} WHERE expires_at <= @now ORDER BY expires_at LIMIT @limit)`,
          parameters,
        ),
      ),
  }
  return self
}

/**
 * Readers and a writer at once; a wait instead of an error while another process writes; and what was committed survives a
 * power cut: an event is acknowledged right after.
 */
function configure(db: SqliteDatabase): void {
  const { timeout } = firstRow<{ timeout?: number }>(db, 'PRAGMA busy_timeout')
  if (!timeout) db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
  const { journal_mode: mode } = firstRow<{ journal_mode?: string }>(db, 'PRAGMA journal_mode')
  if (mode === 'delete') switchToWal(db)
  const { synchronous } = firstRow<{ synchronous?: number }>(db, 'PRAGMA synchronous')
  // Also where it says FULL: better-sqlite3 changes it to NORMAL when the file is next read in WAL mode.
  if (synchronous !== 3) db.exec('PRAGMA synchronous = FULL')
}

/** SQLite waits for nobody here; and where several processes start at once, each of them is at it. */
function switchToWal(db: SqliteDatabase): void {
  const giveUpAtMs = performance.now() + BUSY_TIMEOUT_MS
  for (;;) {
    try {
      db.exec('PRAGMA journal_mode = WAL')
      return
    } catch (error) {
      if (!/locked|busy/i.test(String(error)) || performance.now() > giveUpAtMs) throw error
    }
  }
}

function firstRow<Row>(db: SqliteDatabase, sql: string): Row {
  const rows: unknown = (db.prepare(sql) as Partial<SqliteStatement>).all?.()
  if (Array.isArray(rows)) return (rows[0] ?? {}) as Row
  throw new StoreError(
    'store_unavailable',
    'The database is not a synchronous one, so nothing can be done with it: open it with better-sqlite3, libsql or node:sqlite.',
  )
}

/** A statement of libsql works on when its database is closed. */
function isClosed(db: SqliteDatabase): boolean {
  return (db as { open?: unknown }).open === false
}
