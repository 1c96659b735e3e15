import { StoreError } from '../../src/index.js'
import { BUSY_TIMEOUT_MS, messageOf, monotonicMs } from '../../src/internal.js'

/** The part of a database of better-sqlite3, libsql or `node:sqlite` that is used. */
export interface SqliteDatabase {
  prepare(sql: string): SqliteStatement
  exec(sql: string): unknown
}

export interface SqliteStatement {
  all(...parameters: never[]): unknown[]
}

interface Configured {
  /** One in memory has no other journal, and ends with its process. */
  readonly isOnFile: boolean
  /** Asked before each transaction. Of other pragmas a prepared statement returns the value that there was when it was prepared. */
  readonly journalMode: SqliteStatement
}

const configured = new WeakMap<SqliteDatabase, Configured>()

/**
 * Sets what only we need, once for each connection: again would fail in a transaction, in which a second table may first be used.
 */
export function configureOnce(db: SqliteDatabase): void {
  if (configured.has(db)) return
  if (!busyTimeoutOf(db)) db.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
  const { file } = firstRow<{ file?: string }>(
    db,
    "SELECT file FROM pragma_database_list WHERE name = 'main'",
  )
  const isOnFile = Boolean(file)
  if (isOnFile) useWal(db)
  // Also if it is FULL already: better-sqlite3 changes it to NORMAL when the file is next read in WAL mode.
  syncCommits(db, EXTRA)
  // On macOS, where an ordinary fsync ends before the disk has written; elsewhere it does nothing.
  if (isOnFile) {
    db.exec('PRAGMA fullfsync = ON')
    syncFound(db)
  }
  configured.set(db, { isOnFile, journalMode: db.prepare(JOURNAL_MODE) })
}

/**
 * Makes what is in the file durable before an answer rests on it: of a process that died between the write of its last commit and the sync,
 * the next one reads a record that a power cut would take back. Once is enough: as long as a connection is open, SQLite shows it a commit of
 * another one only after the sync.
 */
function syncFound(db: SqliteDatabase): void {
  untilFree(() => {
    try {
      // It syncs the log before it copies it into the database.
      const { busy } = firstRow<{ busy?: number | bigint }>(db, 'PRAGMA wal_checkpoint(PASSIVE)')
      if (Number(busy) !== 0) throw new Error('database is locked')
    } catch (error) {
      if (!isOfCopy(error)) throw error
    }
  })
}

/** Results of SQLite that a checkpoint can have only after the sync: the database is read-only, or its disk full. */
const OF_COPY = { SQLITE_READONLY: 8, SQLITE_FULL: 13, SQLITE_IOERR_WRITE: 778 }

function isOfCopy(error: unknown): boolean {
  const { code, errcode } = error as { code?: unknown; errcode?: unknown }
  return Object.entries(OF_COPY).some(([name, number]) => code === name || errcode === number)
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

const JOURNAL_MODE = 'PRAGMA journal_mode'

function journalModeOf(db: SqliteDatabase): string | undefined {
  const statement = configured.get(db)?.journalMode ?? db.prepare(JOURNAL_MODE)
  return rowOf<{ journal_mode?: string }>(statement).journal_mode
}

const FULL = 2
const EXTRA = 3

/** Sets `synchronous = FULL` if it is below this level. */
function syncCommits(db: SqliteDatabase, leastLevel: number): void {
  const { synchronous } = firstRow<{ synchronous?: number | bigint }>(db, 'PRAGMA synchronous')
  if (Number(synchronous) < leastLevel) db.exec('PRAGMA synchronous = FULL')
}

/** Several processes that start at once all switch. */
function switchToWal(db: SqliteDatabase): void {
  untilFree(() => void db.exec('PRAGMA journal_mode = WAL'))
}

/** Tries for as long as a usual busy_timeout, where SQLite does not wait for a lock by itself. */
function untilFree(attempt: () => void): void {
  const giveUpAtMs = monotonicMs() + BUSY_TIMEOUT_MS
  for (;;) {
    try {
      attempt()
      return
    } catch (error) {
      if (!isBusy(error) || monotonicMs() > giveUpAtMs) throw error
    }
  }
}

/** Whether another process was writing; not whether this connection itself is in the way. */
export function isBusy(error: unknown): boolean {
  return /database is locked/.test(messageOf(error))
}

/** Changes with each commit of another connection. */
export function versionOf(db: SqliteDatabase): unknown {
  return firstRow<{ data_version?: unknown }>(db, 'PRAGMA data_version').data_version
}

/** In milliseconds; 0 if it does not wait. */
export function busyTimeoutOf(db: SqliteDatabase): number {
  return Number(firstRow<{ timeout?: number | bigint }>(db, 'PRAGMA busy_timeout').timeout)
}

/** Calls `work` with a connection that does not wait while another process writes. */
export function withoutWaiting<T>(db: SqliteDatabase, work: () => T): T {
  const timeout = busyTimeoutOf(db)
  db.exec('PRAGMA busy_timeout = 0')
  try {
    return work()
  } finally {
    db.exec(`PRAGMA busy_timeout = ${timeout}`)
  }
}

function firstRow<Row>(db: SqliteDatabase, sql: string): Row {
  return rowOf(db.prepare(sql))
}

function rowOf<Row>(statement: Partial<SqliteStatement>): Row {
  const rows: unknown = statement.all?.()
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
