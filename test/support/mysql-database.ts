import { randomBytes } from 'node:crypto'
import { createConnection, createPool, type Pool } from 'mysql2/promise'
import { afterAll, beforeAll } from 'vitest'
import { mysqlUrl } from './on-servers.js'

/** A database for one test file on the run's MySQL, so that files that run concurrently do not see each other. */
export interface TestMysqlDatabase {
  /** It needs no quotes. */
  readonly name: string
  /** For a connection to that database. */
  readonly url: string
  /** For the test's own statements, in that database. */
  query(sql: string, parameters?: unknown[]): Promise<Record<string, unknown>[]>
  /** The only column of the result of `query`, in order. */
  column(sql: string, parameters?: unknown[]): Promise<unknown[]>
  /** Whether the server is a MariaDB, and no MySQL. */
  isMariadb(): Promise<boolean>
  /** A connection of its own. */
  connect(): Promise<TestMysqlConnection>
}

interface TestMysqlConnection extends AsyncDisposable {
  query(sql: string): Promise<Record<string, unknown>[]>
}

/** Creates a database with these statements before the tests of a file or a `describe`, and removes it after them. */
export function testMysqlDatabase(...statements: readonly string[]): TestMysqlDatabase {
  const name = `tix_${randomBytes(6).toString('hex')}`
  let pool: Pool | undefined

  const database: TestMysqlDatabase = {
    name,
    get url() {
      const url = new URL(mysqlUrl())
      url.pathname = `/${name}`
      return url.href
    },
    async query(sql, parameters) {
      if (pool === undefined) throw new Error('There is no database yet: query it in a hook or a test')
      const [result] = await pool.query(sql, parameters)
      return rowsOf(result)
    },
    async connect() {
      const connection = await createConnection(database.url)
      return {
        query: async (sql) => rowsOf((await connection.query(sql))[0]),
        [Symbol.asyncDispose]: () => connection.end(),
      }
    },
    isMariadb: async () => /mariadb/i.test(String(await database.column('SELECT VERSION()'))),
    column: async (sql, parameters) =>
      (await database.query(sql, parameters)).map((row) => Object.values(row)[0]),
  }

  beforeAll(async () => {
    const server = await createConnection(mysqlUrl())
    await server.query(`CREATE DATABASE ${name}`).finally(() => server.end())
    pool = createPool({ uri: database.url, connectionLimit: 3 })
    // The tables of tests need no key, but a server may.
    pool.pool.on('connection', (connection) => connection.query(KEYS_OF_ITS_OWN, () => {}))
    for (const statement of statements.flatMap(statementsOf)) await pool.query(statement)
  })
  afterAll(async () => {
    await pool?.query(`DROP DATABASE ${name}`)
    await pool?.end()
  })
  return database
}

/** Of MySQL alone: MariaDB ignores it. */
const KEYS_OF_ITS_OWN = '/*!80030 SET SESSION sql_generate_invisible_primary_key = ON */'

/** The statements of a `ddl`. */
function statementsOf(sql: string): string[] {
  return sql.split(';\n').filter((statement) => statement.trim() !== '')
}

/** A statement that returns no rows has a summary instead. */
function rowsOf(result: unknown): Record<string, unknown>[] {
  return Array.isArray(result) ? result.map((row) => ({ ...row })) : []
}
