import { StoreError } from '../../src/index.js'

/** The part of a database of better-sqlite3, libsql or `node:sqlite` that is used. */
export interface SqliteDatabase {
  prepare(sql: string): SqliteStatement
  exec(sql: string): unknown
}

export interface SqliteStatement {
  all(...parameters: never[]): unknown[]
  run(...parameters: never[]): { changes: number | bigint }
}

/** The longest that a statement waits while another process writes, if the connection sets no limit. It blocks the event loop. */
const BUSY_TIMEOUT_MS = 2_000

const configured = new WeakSet<SqliteDatabase>()

/** Configures each connection once: again would fail in a transaction, in which a second table may first be used. */
export function configureOnce(db: SqliteDatabase): void {
  if (configured.has(db)) return
  configure(db)
  configured.add(db)
}

/**
 * Allows readers beside a writer, and waits instead of failing while another process writes. Commits survive a power cut, because an
 * event is acknowledged right after its commit.
 */
function configure(db: SqliteDatabase): void {
  const { timeout } = firstRow<{ timeout?: number }>(db, 'PRAGMA busy_timeout')
  if (!timeout) db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
  const { journal_mode: mode } = firstRow<{ journal_mode?: string }>(db, 'PRAGMA journal_mode')
  if (mode === 'delete') switchToWal(db)
  const { synchronous } = firstRow<{ synchronous?: number }>(db, 'PRAGMA synchronous')
  // Also if it is FULL already: better-sqlite3 changes it to NORMAL when the file is next read in WAL mode.
  if (synchronous !== 3) db.exec('PRAGMA synchronous = FULL')
}

/** SQLite does not wait for a lock here, and several processes that start at once all switch. */
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

/** For libsql, whose statements still run when their database is closed. */
export function isClosed(db: SqliteDatabase): boolean {
  return (db as { open?: unknown }).open === false
}
