import { randomBytes } from 'node:crypto'
import { Pool } from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { postgresUrl } from './on-servers.js'

/** A schema for one test file in the run's database, so that files that run concurrently do not see each other. */
export interface TestDatabase {
  /** Its name, which needs no quotes. */
  readonly schema: string
  readonly url: string
  /** For the test's own statements, in that schema. */
  query(sql: string, parameters?: unknown[]): Promise<Record<string, unknown>[]>
  /** The only column of the result of `query`, in order. */
  column(sql: string, parameters?: unknown[]): Promise<unknown[]>
  /** Server settings for a connection in that schema, as `-c` options. */
  settings(more?: Readonly<Record<string, string>>): string
}

/** Creates a schema with these statements before the tests of a file or a `describe`, and removes it after them. */
export function testDatabase(...statements: readonly string[]): TestDatabase {
  const schema = `tix_${randomBytes(6).toString('hex')}`
  let pool: Pool | undefined

  const database: TestDatabase = {
    schema,
    get url() {
      return postgresUrl()
    },
    async query(sql, parameters) {
      if (pool === undefined) throw new Error('There is no database yet: query it in a hook or a test')
      return (await pool.query(sql, parameters)).rows
    },
    column: async (sql, parameters) =>
      (await database.query(sql, parameters)).map((row) => Object.values(row)[0]),
    settings: (more = {}) =>
      Object.entries({ search_path: schema, ...more })
        .map(([name, value]) => `-c ${name}=${value.replaceAll(' ', '\\ ')}`)
        .join(' '),
  }

  beforeAll(async () => {
    pool = new Pool({ connectionString: postgresUrl(), options: database.settings(), max: 3 })
    await pool.query(`CREATE SCHEMA ${schema}`)
    for (const statement of statements) await pool.query(statement)
  })
  afterAll(async () => {
    await pool?.query(`DROP SCHEMA ${schema} CASCADE`)
    await pool?.end()
  })
  return database
}
