import { describeType } from '../../src/internal.js'

/** The part of a D1 binding, or of a session of one, that is used. */
export interface D1Database {
  prepare(sql: string): D1Statement
  batch(statements: never[]): Promise<readonly D1Result[]>
}

export interface D1Statement {
  bind(...parameters: unknown[]): D1Statement
  all(): Promise<D1Result>
}

interface D1Result {
  readonly results: readonly unknown[]
}

/** @throws TypeError when it is not a database */
export function checkDatabase(db: D1Database): void {
  if (typeof db?.prepare === 'function' && typeof db.batch === 'function') return
  throw new TypeError(
    `db must be a D1 binding, such as env.DB, not ${describeType(db)} without its prepare and batch: is it listed in d1_databases of the wrangler configuration?`,
  )
}
