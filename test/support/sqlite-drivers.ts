import { createRequire } from 'node:module'
import { join } from 'node:path'
import { afterEach, beforeEach, describe } from 'vitest'
import { makeFolder, removeFolder } from './server-process.js'
import { openDatabase, type TestDatabase } from './sqlite-open.js'

/** A driver that the tests use, and whether it is available here. */
interface SqliteDriver {
  readonly name: string
  readonly isHere: boolean
}

/** `node:sqlite` comes with Node 22; better-sqlite3 takes a minute to compile, so it is tested only if it is installed. */
export const DRIVERS: readonly SqliteDriver[] = [
  { name: 'libsql', isHere: true },
  { name: 'node:sqlite', isHere: process.getBuiltinModule?.('node:sqlite') !== undefined },
  ...(isInstalled('better-sqlite3') ? [{ name: 'better-sqlite3', isHere: true }] : []),
]

/** The databases of one test, in a folder that is removed with them. */
export interface Databases {
  readonly driver: string
  /** Opens a file in the folder, or `:memory:`, or a `file:` URL. */
  open(file?: string, options?: object): TestDatabase
  path(file?: string): string
}

/** A `describe` for each driver, visibly skipped if this Node has none. */
export function onEachDriver(what: string, body: (databases: Databases) => void): void {
  for (const { name, isHere } of DRIVERS) {
    describe.skipIf(!isHere)(`${what}, on ${name}`, () => body(useDatabases(name)))
  }
}

/** The databases of each test, in the body of a `describe`. */
export function useDatabases(driver: string): Databases {
  let folder = ''
  let opened: TestDatabase[] = []
  beforeEach(async () => {
    folder = await makeFolder()
  })
  afterEach(async () => {
    for (const db of opened) close(db)
    opened = []
    await removeFolder(folder)
  })
  const path = (file = 'app.db'): string => (file.includes(':') ? file : join(folder, file))
  return {
    driver,
    path,
    open(file, options) {
      const db = openDatabase(driver, path(file), options)
      opened.push(db)
      return db
    },
  }
}

/** A database that the test has closed cannot be closed again. */
function close(db: TestDatabase): void {
  try {
    db.close()
  } catch {}
}

function isInstalled(name: string): boolean {
  try {
    createRequire(import.meta.url).resolve(name)
    return true
  } catch {
    return false
  }
}

/** A database that records its statements. */
export function listening(db: TestDatabase): { db: TestDatabase; statements: string[] } {
  const statements: string[] = []
  const note = <T>(sql: string, result: T): T => {
    statements.push(sql.trim())
    return result
  }
  return {
    statements,
    db: {
      close: () => db.close(),
      exec: (sql) => note(sql, db.exec(sql)),
      prepare(sql) {
        const statement = db.prepare(sql)
        return {
          get: (...parameters) => note(sql, statement.get(...parameters)),
          all: (...parameters) => note(sql, statement.all(...parameters)),
          run: (...parameters) => note(sql, statement.run(...parameters)),
        }
      },
    },
  }
}
