import { StoreError } from '../../src/index.js'
import { BUSY_TIMEOUT_MS } from '../../src/internal.js'

/** The part of a database of better-sqlite3, libsql or `node:sqlite` that is used. */
export interface SqliteDatabase {
  prepare(sql: string): SqliteStatement
  exec(sql: string): unknown
}

export interface SqliteStatement {
  all(...parameters: never[]): unknown[]
  run(...parameters: never[]): { changes: number | bigint }
}

/** Whether each configured database is on a file: one in memory has no other journal, and ends with its process. */
const configured = new WeakMap<SqliteDatabase, { readonly isOnFile: boolean }>()

/**
 * Sets what only we need, once for each connection: again would fail in a transaction, in which a second table may first be used.
 */
export function configureOnce(db: SqliteDatabase): void {
  if (configured.has(db)) return
  const { timeout } = firstRow<{ timeout?: number }>(db, 'PRAGMA busy_timeout')
  if (!timeout) db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
  const { file } = firstRow<{ file?: string }>(
    db,
    "SELECT file FROM pragma_database_list WHERE name = 'main'",
  )
  const isOnFile = Boolean(file)
  if (isOnFile) useWal(db)
  // Also if it is FULL already: better-sqlite3 changes it to NORMAL when the file is next read in WAL mode.
  syncCommits(db, EXTRA)
  // On macOS, where an ordinary fsync ends before the disk has written; elsewhere it does nothing.
  if (isOnFile) db.exec('PRAGMA fullfsync = ON')
  configured.set(db, { isOnFile })
}

/**
 * Makes the next commit durable, because an event is acknowledged right after it: all or nothing of it survives a killed process, and all
 * of it a power cut. Checked before each transaction, because an app may set its own pragmas after ours: `synchronous = NORMAL` is usual.
 */
export function keepDurable(db: SqliteDatabase): void {
  if (configured.get(db)?.isOnFile !== true) return
  useWal(db)
  syncCommits(db, FULL)
}

/** In every other journal mode a reader blocks a writer; in `memory` and `off`, a killed process leaves half of a commit. */
function useWal(db: SqliteDatabase): void {
  if (journalModeOf(db) === 'wal') return
  switchToWal(db)
  const mode = journalModeOf(db)
  if (mode === 'wal') return
  throw new StoreError(
    'store_unavailable',
    `This SQLite database stays in the journal mode ${mode} and cannot be switched to WAL, so a killed process could leave half of a commit in it: put the file on a local disk, and open it without nolock, immutable or a VFS of its own.`,
  )
}

function journalModeOf(db: SqliteDatabase): string | undefined {
  return firstRow<{ journal_mode?: string }>(db, 'PRAGMA journal_mode').journal_mode
}

const FULL = 2
const EXTRA = 3

/** Sets `synchronous = FULL` if it is below this level. */
function syncCommits(db: SqliteDatabase, leastLevel: number): void {
  const { synchronous } = firstRow<{ synchronous?: number | bigint }>(db, 'PRAGMA synchronous')
  if (Number(synchronous) < leastLevel) db.exec('PRAGMA synchronous = FULL')
}

/** SQLite does not wait for a lock here, and several processes that start at once all switch. */
function switchToWal(db: SqliteDatabase): void {
  const giveUpAtMs = performance.now() + BUSY_TIMEOUT_MS
  for (;;) {
    try {
      db.exec('PRAGMA journal_mode = WAL')
      return
    } catch (error) {
      if (!isBusy(error) || performance.now() > giveUpAtMs) throw error
    }
  }
}

/** Whether another process was writing. */
export function isBusy(error: unknown): boolean {
  return /locked|busy/i.test(String(error))
}

/** Calls `work` with a connection that does not wait while another process writes. */
export function withoutWaiting<T>(db: SqliteDatabase, work: () => T): T {
  const { timeout } = firstRow<{ timeout?: number }>(db, 'PRAGMA busy_timeout')
  db.exec('PRAGMA busy_timeout = 0')
  try {
    return work()
  } finally {
    db.exec(`PRAGMA busy_timeout = ${Number(timeout)}`)
  }
}

function firstRow<Row>(db: SqliteDatabase, sql: string): Row {
  const rows: unknown = (db.prepare(sql) as Partial<SqliteStatement>).all?.()
  if (Array.isArray(rows)) return (rows[0] ?? {}) as Row
  throw new StoreError(
    'store_unavailable',
    'The database is not synchronous: open it with better-sqlite3, libsql or node:sqlite.',
  )
}

/** For libsql, whose statements still run when their database is closed. */
export function isClosed(db: SqliteDatabase): boolean {
  return (db as { open?: unknown }).open === false
}
