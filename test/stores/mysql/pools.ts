import type mysql from 'mysql2/promise'
import { onTestFinished } from 'vitest'
import { createMariadb, createMysql2, type PoolOptions } from '../../support/mysql-clients.js'
import type { TestMysqlDatabase } from '../../support/mysql-database.js'

interface OpenOptions extends Omit<PoolOptions, 'port'> {
  /** Statements that each new connection begins with. */
  readonly session?: readonly string[]
}

/** Both kinds of pool are used alike here. */
export type AnyPool = mysql.Pool

/** A client with pools. */
export interface PoolClient {
  readonly name: 'mysql2' | 'mariadb'
  /** Closed when the test ends. */
  open(at: { readonly url: string }, options?: OpenOptions): AnyPool
}

function closed<Pool extends { end(): Promise<unknown> }>(pool: Pool): Pool {
  onTestFinished(() => void pool.end().catch(() => {}))
  return pool
}

const mysql2Client: PoolClient = {
  name: 'mysql2',
  open({ url }, { session = [], ...options } = {}) {
    const pool = closed(createMysql2(url, options))
    pool.pool.on('connection', (connection) => {
      for (const statement of session) connection.query(statement, () => {})
    })
    return pool
  },
}

const mariadbClient: PoolClient = {
  name: 'mariadb',
  open({ url }, { session = [], more, ...options } = {}) {
    const initSql = session.length > 0 ? { initSql: [...session] } : {}
    // By default it asks for a connection that is refused again and again for 10 s.
    const pool = createMariadb(url, { ...options, more: { acquireTimeout: 2_000, ...initSql, ...more } })
    return closed(pool) as unknown as AnyPool
  },
}

/** The two clients whose pools a store takes. */
export const POOLS: readonly PoolClient[] = [mysql2Client, mariadbClient]
export const [MYSQL2, MARIADB] = [mysql2Client, mariadbClient]

/**
 * Resolves when a statement of the database that contains this text waits for a lock: it has been running for a while, as nothing else
 * here does. The server's own list of waiting transactions is renewed only if nobody has read it for a while.
 */
export async function untilWaiting(database: TestMysqlDatabase, text: string): Promise<void> {
  const running = async (): Promise<unknown[]> =>
    database.column(
      'SELECT ID FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND ID <> CONNECTION_ID() AND LOCATE(?, INFO) > 0',
      [text],
    )
  for (;;) {
    const before = await running()
    if (before.length === 0) continue
    await database.query('SELECT SLEEP(0.05)')
    const after = await running()
    if (before.some((id) => after.includes(id))) return
  }
}
