import { createRequire } from 'node:module'
import { join } from 'node:path'

/** The parts of a driver's database that the tests use. */
export interface TestDatabase {
  prepare(sql: string): {
    get(...parameters: unknown[]): unknown
    all(...parameters: unknown[]): unknown[]
    run(...parameters: unknown[]): { changes: number | bigint }
  }
  exec(sql: string): unknown
  close(): unknown
}

type DatabaseClass = new (path: string, options: object) => TestDatabase

/** Opens a database with a driver, which is passed by name so that child processes can use it. */
export function openDatabase(driver: string, path: string, options: object = {}): TestDatabase {
  if (driver === 'node:sqlite') {
    const { DatabaseSync } = process.getBuiltinModule('node:sqlite') as { DatabaseSync: DatabaseClass }
    return new DatabaseSync(path, options)
  }
  // From the working directory: a child process runs as a bundle in another folder.
  const Database = createRequire(join(process.cwd(), 'package.json'))(driver) as DatabaseClass
  return new Database(path, options)
}

/** The first row. */
export function rowOf(db: TestDatabase, sql: string, ...parameters: unknown[]): Record<string, unknown> {
  const { _metadata, ...row } = (db.prepare(sql).get(...parameters) ?? {}) as Record<string, unknown>
  return row
}

/** The values of the first column of all rows. */
export function valuesOf(db: TestDatabase, sql: string): unknown[] {
  return db
    .prepare(sql)
    .all()
    .map((row) => Object.values(row as object)[0])
}
