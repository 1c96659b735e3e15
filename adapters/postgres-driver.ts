import { deferred } from '../src/deferred.js'
import { describeType } from '../src/describe-type.js'
import { StoreError } from '../src/index.js'
import { lossGuard } from './postgres-loss.js'
import { type PgQueryable, type PgResult, preparedStatements } from './postgres-prepared.js'

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
  /**
   * Calls `work` in a transaction, and `idOf` when it is done: where that gives an id, it commits only if it still is in the
   * transaction of that id, and in none that has failed.
   */
  transaction<R>(work: (tx: Tx) => Promise<R>, idOf?: IdOf<R>): Promise<R>
  query: PostgresDriver<Tx>['query']
  /** The same for the first statement of a transaction, before which it can be rolled back and begun again. */
  first: PostgresDriver<Tx>['query']
}

type IdOf<R> = (result: R) => string | undefined

/** What is used of a pool of `pg`. */
export interface PgPool extends PgQueryable {
  readonly totalCount: number
  connect(): Promise<PgClient>
}

/** What is used of a client of that pool. */
interface PgClient extends PgQueryable {
  on(event: 'error', listener: (error: Error) => void): unknown
  off(event: 'error', listener: (error: Error) => void): unknown
  release(error?: Error | boolean): void
}

/** What is used of the `sql` of postgres.js. */
export interface PostgresJs {
  begin(work: (tx: PostgresJsTransaction) => Promise<unknown>): Promise<unknown>
  unsafe(sql: string, parameters?: never[], options?: { prepare?: boolean }): PromiseLike<PostgresJsRows>
}

interface PostgresJsTransaction {
  unsafe(sql: string, parameters?: never[], options?: { prepare?: boolean }): PromiseLike<PostgresJsRows>
}

type PostgresJsRows = readonly Row[] & { readonly count: number }

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

/** What a statement gives: its rows, and how many it found or changed, which needs no rows. */
export interface Result {
  readonly rows: readonly Row[]
  readonly count: number | null
}

/** One statement on any connection, without a transaction. */
export type Query = (sql: string, parameters: readonly unknown[]) => Promise<Result>

export function queryOf(pool: PgPool | PostgresJs): Query {
  if (isPostgresJs(pool)) {
    return async (sql, parameters) => {
      const rows = await pool.unsafe(sql, parameters as never[], PREPARED)
      return { rows, count: rows.count }
    }
  }
  if (isPgPool(pool)) {
    const prepared = preparedStatements()
    return async (sql, parameters) => {
      const { rows, rowCount } = await prepared.send(pool, sql, parameters)
      return { rows, count: rowCount }
    }
  }
  throw notAPool(pool)
}

export function driverOf<Tx>(pool: PgPool | PostgresJs | PostgresDriver<Tx>): CheckingDriver<Tx> {
  if (isPostgresJs(pool)) return postgresJsDriver(pool) as CheckingDriver<unknown> as CheckingDriver<Tx>
  if (isPgPool(pool)) return pgDriver(pool) as CheckingDriver<unknown> as CheckingDriver<Tx>
  if (isDriver<Tx>(pool)) return checkingDriver(pool)
  throw notAPool(pool)
}

function pgDriver(pool: PgPool): CheckingDriver<PgClient> {
  const prepared = preparedStatements()
  return {
    async transaction(work, idOf = noId) {
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
        const id = idOf(result)
        // In one message, of which the server does nothing more when a part of it fails.
        const commit = id === undefined ? 'COMMIT' : `${checkFor(id)}; COMMIT`
        const ended: PgResult | PgResult[] = await client.query(commit)
        if ([ended].flat().at(-1)?.command !== 'COMMIT') {
          throw new StoreError('store_unavailable', ROLLED_BACK)
        }
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
    async first(client, sql, parameters) {
      const { rows } = await prepared.send(client, sql, parameters, async () => {
        await client.query('ROLLBACK')
        await client.query('BEGIN')
      })
      return rows
    },
  }
}

function postgresJsDriver(sql: PostgresJs): CheckingDriver<PostgresJsTransaction> {
  const query: PostgresDriver<PostgresJsTransaction>['query'] = async (tx, statement, parameters) =>
    tx.unsafe(statement, parameters as never[], PREPARED)
  return {
    async transaction<R>(work: (tx: PostgresJsTransaction) => Promise<R>, idOf: IdOf<R> = noId) {
      const { guard, toItsEnd, unlessLost, lose } = lossGuard()
      try {
        let checking: Promise<unknown> | undefined
        const ended = await sql.begin(async (tx) => {
          const result = await unlessLost(() => toItsEnd(() => work(guard(tx))))
          const id = idOf(result)
          if (id !== undefined) {
            // It is sent and not waited for: where it fails, the COMMIT behind it rolls back. Without a parameter, because what
            // has one, postgres.js may keep back, and the COMMIT with it, for ever if there is no transaction any more.
            await unlessLost(async () => {
              checking = Promise.resolve(tx.unsafe(checkFor(id)))
              checking.catch(() => {})
            })
          }
          // In an object, because postgres.js awaits the elements of a list that it is given.
          return { result }
        })
        await checking
        return (ended as { result: R }).result
      } catch (error) {
        lose()
        throw error
      }
    },
    query,
    first: query,
  }
}

/** A library in between may stand on postgres.js, so what is sent here is kept from a lost connection too. */
function checkingDriver<Tx>(driver: PostgresDriver<Tx>): CheckingDriver<Tx> {
  const query: PostgresDriver<Tx>['query'] = (tx, sql, parameters) => driver.query(tx, sql, parameters)
  return {
    async transaction<R>(work: (tx: Tx) => Promise<R>, idOf: IdOf<R> = noId) {
      const { unlessLost, lose } = lossGuard()
      try {
        return await driver.transaction(async (tx) => {
          const result = await unlessLost(() => work(tx))
          const id = idOf(result)
          if (id !== undefined) await unlessLost(() => query(tx, CHECK, [id]))
          return result
        })
      } catch (error) {
        lose()
        throw error
      }
    },
    query,
    first: query,
  }
}

function noId(): undefined {}

/** What the server says where a handler ended the transaction, or began another one. */
export const ENDED = 'tix-webhooks: the handler ended the transaction'

/** Fails unless it runs in the transaction of that id, by casting words to a number. Not every library looks at what COMMIT says. */
const CHECK = `SELECT (CASE txid_current_if_assigned() WHEN $1::bigint THEN '1' ELSE '${ENDED}' END)::integer`

/** @param id digits */
function checkFor(id: string): string {
  return CHECK.replace('$1', id)
}

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
