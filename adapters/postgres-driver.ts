import { deferred } from '../src/deferred.js'
import { describeType } from '../src/describe-type.js'
import { StoreError } from '../src/index.js'
import { lossGuard } from './postgres-loss.js'

export type Row = Readonly<Record<string, unknown>>

/**
 * Carries any library that has transactions, such as Drizzle or Kysely: `postgresInbox(driver)` then gives handlers that
 * library's own transaction. docs/idempotency.md has both.
 *
 * @typeParam Tx the library's own transaction
 */
export interface PostgresDriver<Tx> {
  /** Calls `work` in a new transaction: commits when it resolves, rolls back when it rejects, and rejects when either fails. */
  transaction<R>(work: (tx: Tx) => Promise<R>): Promise<R>
  /** Runs one statement with `$1` parameters in that transaction, and gives its rows. */
  query(tx: Tx, sql: string, parameters: readonly unknown[]): Promise<readonly Row[]>
}

/** A driver as the inbox uses it. */
export interface CheckingDriver<Tx> {
  /** Calls `check` in the transaction when the work is done, before it commits: where that rejects, it rolls back. */
  transaction<R>(work: (tx: Tx) => Promise<R>, check?: (tx: Tx, result: R) => Promise<void>): Promise<R>
  query: PostgresDriver<Tx>['query']
}

/** What is used of a pool of `pg`. */
export interface PgPool {
  readonly totalCount: number
  connect(): Promise<PgClient>
  query(sql: string, parameters?: unknown[]): Promise<{ rows: Row[] }>
}

/** What is used of a client of that pool. */
interface PgClient {
  query(sql: string, parameters?: unknown[]): Promise<{ rows: Row[]; command: string }>
  on(event: 'error', listener: (error: Error) => void): unknown
  off(event: 'error', listener: (error: Error) => void): unknown
  release(error?: Error | boolean): void
}

/** What is used of the `sql` of postgres.js. */
export interface PostgresJs {
  begin(work: (tx: PostgresJsTransaction) => Promise<unknown>): Promise<unknown>
  unsafe(sql: string, parameters?: never[], options?: { prepare?: boolean }): PromiseLike<readonly Row[]>
}

interface PostgresJsTransaction {
  unsafe(sql: string, parameters?: never[], options?: { prepare?: boolean }): PromiseLike<readonly Row[]>
}

/** The transaction that handlers get: a `PoolClient` of `pg`, or the `sql` of a postgres.js transaction. */
export type TransactionOf<Pool> = Pool extends {
  begin: { (work: (tx: infer Tx) => unknown): unknown; (options: string, work: never): unknown }
}
  ? Tx
  : Pool extends { connect: { (): Promise<infer Client>; (callback: never): unknown } }
    ? Client
    : Pool extends { connect(): Promise<infer Client> }
      ? Client
      : never

/** Otherwise postgres.js asks for the types of the parameters first, a round trip more. A client's own `prepare: false` wins. */
const PREPARED = { prepare: true }

/** One statement on any connection, without a transaction. */
export type Query = (sql: string, parameters: readonly unknown[]) => Promise<readonly Row[]>

export function queryOf(pool: PgPool | PostgresJs): Query {
  if (isPostgresJs(pool)) return async (sql, parameters) => pool.unsafe(sql, parameters as never[], PREPARED)
  if (isPgPool(pool)) return async (sql, parameters) => (await pool.query(sql, [...parameters])).rows
  throw notAPool(pool)
}

export function driverOf<Tx>(pool: PgPool | PostgresJs | PostgresDriver<Tx>): CheckingDriver<Tx> {
  if (isPostgresJs(pool)) return postgresJsDriver(pool) as CheckingDriver<unknown> as CheckingDriver<Tx>
  if (isPgPool(pool)) return pgDriver(pool) as CheckingDriver<unknown> as CheckingDriver<Tx>
  if (isDriver<Tx>(pool)) return checkingDriver(pool)
  throw notAPool(pool)
}

function pgDriver(pool: PgPool): CheckingDriver<PgClient> {
  return {
    async transaction(work, check = noCheck) {
      const client = await pool.connect()
      const { guard, toItsEnd } = lossGuard()
      let broken: Error | undefined
      // Without a listener, a connection that breaks between two statements would end the process. With it the transaction ends
      // there and then, and its place in the pool is free, though the handler may wait for ever.
      const breaking = deferred<never>()
      breaking.promise.catch(() => {})
      client.on('error', breaking.reject)
      try {
        await client.query('BEGIN')
        const result = await toItsEnd(() => Promise.race([work(guard(client)), breaking.promise]))
        await check(client, result)
        const { command } = await client.query('COMMIT')
        if (command !== 'COMMIT') throw new StoreError('store_unavailable', ROLLED_BACK)
        return result
      } catch (error) {
        await client.query('ROLLBACK').catch((cause: Error) => {
          broken = cause
        })
        throw error
      } finally {
        client.release(broken)
        client.off('error', breaking.reject)
      }
    },
    query: async (client, sql, parameters) => (await client.query(sql, [...parameters])).rows,
  }
}

function postgresJsDriver(sql: PostgresJs): CheckingDriver<PostgresJsTransaction> {
  return {
    async transaction<R>(
      work: (tx: PostgresJsTransaction) => Promise<R>,
      check: (tx: PostgresJsTransaction, result: R) => Promise<void> = noCheck,
    ) {
      const { guard, toItsEnd, unlessLost, lose } = lossGuard()
      try {
        const ended = await sql.begin(async (tx) => {
          const result = await unlessLost(() => toItsEnd(() => work(guard(tx))))
          await unlessLost(() => check(tx, result))
          // In an object, because postgres.js awaits the elements of a list that it is given.
          return { result }
        })
        return (ended as { result: R }).result
      } catch (error) {
        lose()
        throw error
      }
    },
    query: async (tx, sql, parameters) => tx.unsafe(sql, parameters as never[], PREPARED),
  }
}

/** A library in between may stand on postgres.js, so what is sent here is kept from a lost connection too. */
function checkingDriver<Tx>(driver: PostgresDriver<Tx>): CheckingDriver<Tx> {
  return {
    async transaction(work, check = noCheck) {
      const { unlessLost, lose } = lossGuard()
      try {
        return await driver.transaction(async (tx) => {
          const result = await unlessLost(() => work(tx))
          await unlessLost(() => check(tx, result))
          return result
        })
      } catch (error) {
        lose()
        throw error
      }
    },
    query: (tx, sql, parameters) => driver.query(tx, sql, parameters),
  }
}

async function noCheck(): Promise<void> {}

/** What a handler's transaction ended with though its work was done. */
export const ROLLED_BACK =
  'Postgres rolled back all that the handler had written: one of its SQL statements failed and it went on, or a deferred constraint failed at COMMIT. Let such an error leave the handler, or put a SAVEPOINT around a statement that may fail.'

function isPostgresJs(pool: unknown): pool is PostgresJs {
  return typeof pool === 'function' && has(pool, 'begin') && has(pool, 'unsafe')
}

function isPgPool(pool: unknown): pool is PgPool {
  return has(pool, 'connect') && has(pool, 'query') && 'totalCount' in (pool as object)
}

function isDriver<Tx>(pool: unknown): pool is PostgresDriver<Tx> {
  return has(pool, 'transaction') && has(pool, 'query')
}

function has(object: unknown, method: string): boolean {
  return typeof (object as Record<string, unknown> | null | undefined)?.[method] === 'function'
}

function notAPool(pool: unknown): TypeError {
  return new TypeError(
    `pool must be a Pool of pg, or the sql of postgres.js, not ${describeType(pool)} without their methods. A single Client of pg cannot serve deliveries that come at once. For Drizzle, Kysely and others give postgresInbox a driver: see docs/idempotency.md.`,
  )
}
