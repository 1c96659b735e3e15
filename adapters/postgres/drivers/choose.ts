import { StoreError } from '../../../src/index.js'
import {
  CHECK,
  type CheckingDriver,
  checkFor,
  type IdOf,
  noId,
  type PostgresDriver,
  type Row,
} from './driver.js'
import { has, isStranger, notAPool } from './other-libraries.js'
import { listenTo, type PgPool, pgDriver } from './pg.js'
import { preparedStatements } from './prepared.js'
import { lossGuard } from './transaction-scope.js'

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
    listenTo(pool)
    const prepared = preparedStatements()
    return async (sql, parameters) => {
      const { rows, rowCount } = await prepared.send(pool, sql, parameters)
      return { rows, count: rowCount }
    }
  }
  throw notAPool(pool, 'postgresStore')
}

/** @param as what makes of a client of pg what handlers get */
export function driverOf<Tx>(
  pool: PgPool | PostgresJs | PostgresDriver<Tx>,
  as?: (client: never) => Tx,
): CheckingDriver<unknown, Tx> {
  if (isPgPool(pool)) return pgDriver(pool, as as () => Tx) as CheckingDriver<unknown, Tx>
  if (isPostgresJs(pool)) return withoutAs(postgresJsDriver(pool) as CheckingDriver<unknown, unknown>, as)
  if (isDriver<Tx>(pool)) return withoutAs(checkingDriver(pool) as CheckingDriver<unknown, unknown>, as)
  throw notAPool(pool, 'postgresInbox')
}

function withoutAs<Tx>(driver: CheckingDriver<unknown, unknown>, as: unknown): CheckingDriver<unknown, Tx> {
  if (as === undefined) return driver as CheckingDriver<unknown, Tx>
  throw new TypeError(
    'as converts a client of pg: use it with a Pool of pg. A driver itself decides what it passes to handlers.',
  )
}

function postgresJsDriver(sql: PostgresJs): CheckingDriver<PostgresJsTransaction> {
  const query: PostgresDriver<PostgresJsTransaction>['query'] = async (tx, statement, parameters) =>
    tx.unsafe(statement, parameters as never[], PREPARED)
  return {
    async transaction<R>(
      work: (tx: PostgresJsTransaction, handed: PostgresJsTransaction) => Promise<R>,
      idOf: IdOf<R> = noId,
    ) {
      const { guard, toItsEnd, unlessLost, lose } = lossGuard()
      try {
        let checking: Promise<unknown> | undefined
        const ended = await sql.begin(async (tx) => {
          const result = await unlessLost(() => toItsEnd(() => work(tx, guard(tx))))
          const id = idOf(result)
          if (id !== undefined) {
            // It is sent and not waited for: where it fails, the COMMIT behind it rolls back. Without a parameter, because what
            // has one, postgres.js may keep back, and the COMMIT with it, for ever if there is no transaction any more.
            checking = Promise.resolve(tx.unsafe(checkFor(id)))
            checking.catch(() => {})
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

  /**
   * A library can give a connection back in the middle of a transaction: TypeORM does where a nested one of the handler's is
   * still open. What that delivery wrote must not be committed with this one.
   */
  async function refuseOpen(tx: Tx): Promise<void> {
    const [row] = await query(tx, IS_OPEN, [])
    if (Object.values(row ?? {})[0] !== true) return
    await query(tx, 'ROLLBACK', [])
    throw new StoreError('store_unavailable', LEFT_OPEN)
  }

  /** Such a library also says that it committed where it has only ended a savepoint. */
  async function checkCommitted(id: string): Promise<void> {
    await driver.transaction(async (tx) => {
      await refuseOpen(tx)
      const [row] = await query(tx, 'SELECT txid_status($1::bigint)::text AS status', [id])
      if (Object.values(row ?? {})[0] !== 'committed') {
        throw new StoreError('store_unavailable', NOT_COMMITTED)
      }
    })
  }

  return {
    async transaction<R>(work: (tx: Tx, handed: Tx) => Promise<R>, idOf: IdOf<R> = noId) {
      const { guard, toItsEnd, unlessLost, lose } = lossGuard()
      // Not every driver's transaction is an object.
      const handedOf = (tx: Tx): Tx => (tx instanceof Object ? guard(tx) : tx)
      try {
        let id: string | undefined
        // Kept here, because a driver may return nothing.
        let ended: { result: R } | undefined
        await driver.transaction(async (tx) => {
          // What sets the isolation of its transaction must be the first to be sent in it.
          if (idOf !== noId) await refuseOpen(tx)
          const result = await unlessLost(() => toItsEnd(() => work(tx, handedOf(tx))))
          id = idOf(result)
          if (id !== undefined) await unlessLost(() => query(tx, CHECK, [id]))
          ended = { result }
        })
        if (ended === undefined) throw new StoreError('store_unavailable', NOT_AWAITED)
        if (id !== undefined) await checkCommitted(id)
        return ended.result
      } catch (error) {
        lose()
        throw error
      }
    },
    query,
    first: query,
  }
}

const IS_OPEN = 'SELECT txid_current_if_assigned() IS NOT NULL AS is_open'
const LEFT_OPEN =
  'This connection was in the transaction of an earlier delivery, whose handler left a nested transaction open. That is rolled back now, and both events run again: await what tx.transaction() returns, and use a SAVEPOINT in one statement after the other instead.'
const NOT_AWAITED =
  'The transaction of the driver ended before its work did: it must await the function that is passed to it, as in transaction: (work) => db.transaction(work).'
const NOT_COMMITTED =
  'The library ended the transaction without a COMMIT: the handler left a nested transaction open, or ended the transaction itself. Nothing is kept, and the event runs again.'

function isPostgresJs(pool: unknown): pool is PostgresJs {
  return typeof pool === 'function' && has(pool, 'begin') && has(pool, 'unsafe')
}

function isPgPool(pool: unknown): pool is PgPool {
  return has(pool, 'connect') && has(pool, 'query') && 'totalCount' in (pool as object)
}

function isDriver<Tx>(pool: unknown): pool is PostgresDriver<Tx> {
  return has(pool, 'transaction') && has(pool, 'query') && !has(pool, 'connect') && !isStranger(pool)
}
